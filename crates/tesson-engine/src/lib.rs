//! Files, threads and memory of Tesson: fetch, decode, pack, deliver.
