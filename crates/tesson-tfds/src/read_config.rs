//! How a split is read: `ReadConfig` (§9).
