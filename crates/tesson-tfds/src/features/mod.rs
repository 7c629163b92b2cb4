//! The tree of features, and what records hold for them (§1.3, §6).
