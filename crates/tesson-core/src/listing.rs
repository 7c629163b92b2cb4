//! A folder in the place of a file: its contents as bytes, which a deserializer reads like those of any file.

/// The names in a folder and in all folders below it. Deserializers that
/// [take folders](crate::DeserializerFacts::takes_folders) get its bytes where the configuration names a folder.
///
/// ```
/// use tesson_core::Listing;
///
/// let mut listing = Listing::default();
/// listing.push("cat/");
/// listing.push("cat/1.jpg");
/// let bytes = listing.into_bytes();
/// assert_eq!(Listing::names(&bytes).unwrap().collect::<Vec<_>>(), ["cat/", "cat/1.jpg"]);
/// assert!(Listing::names(b"cat/1.jpg\t0\n").is_none(), "a file");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Listing(String);

impl Listing {
    /// The beginning of a listing, which no text file has. The names follow, one a line.
    pub const START: &[u8] = b"\0folder\n";

    /// Adds a name, relative to the folder, with `/` between its parts; that of a folder ends with `/`.
    ///
    /// # Panics
    /// If there is a line feed in it.
    pub fn push(&mut self, name: &str) {
        assert!(!name.contains('\n'), "names are lines");
        self.0.push_str(name);
        self.0.push('\n');
    }

    /// The listing as the bytes of a file.
    pub fn into_bytes(self) -> Vec<u8> {
        [Listing::START, self.0.as_bytes()].concat()
    }

    /// The names, as they were added; `None` for bytes of a file.
    pub fn names(bytes: &[u8]) -> Option<impl Iterator<Item = &str>> {
        let names = bytes.strip_prefix(Listing::START)?;
        Some(std::str::from_utf8(names).ok()?.lines())
    }
}
