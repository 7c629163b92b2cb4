//! What each example is called: `tfds_id` (§8.10).
