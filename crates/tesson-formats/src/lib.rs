//! The byte formats Tesson reads: bytes in, sequences out.
