//! Feeds training jobs: deterministic, exactly resumable minibatches.
