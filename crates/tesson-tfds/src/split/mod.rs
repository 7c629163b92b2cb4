//! Splits: from strings and objects to the records of files (§7).
