//! Tar archives as WebDataset packs them: members that follow each other and have one name before its first `.` are a row, and
//! what follows that `.` is the column.
//!
//! | file | subject |
//! |---|---|
//! | `archive` | the rows of an archive |
//! | `member` | the types of members, and their values |

mod archive;
mod member;

pub(crate) use archive::WEBDATASET;
