//! Which sequence comes when: orders, sharing, cutting and resume states of Tesson.
