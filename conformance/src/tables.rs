//! Tables from outside: converted to a file that reads back with the same values, or refused.

use std::path::Path;
use std::{env, fs, process, thread};

use tesson::store::Stores;
use tesson_convert::{ConvertError, Csv, Form, JsonLines, Sequences, Svm, TableOptions};
use tesson_engine::atomic_file::Existing;

/// A table, its first byte choosing the kind and options.
pub fn table_convert(bytes: &[u8]) {
    let Some((&choice, table)) = bytes.split_first() else { return };
    let name = format!("tesson-table-{}-{:?}", process::id(), thread::current().id());
    let folder = env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("there is room for a table");
    let input = folder.join("table");
    fs::write(&input, table).expect("there is room for a table");
    convert_and_verify(choice, &input, &folder.join("converted"));
    fs::remove_dir_all(&folder).expect("what was made can be removed");
}

fn convert_and_verify(choice: u8, input: &Path, output: &Path) {
    let bit = |n: u32| choice >> n & 1 == 1;
    let mut options = TableOptions::default();
    options.header = bit(2);
    options.label = bit(3).then(|| "0".into());
    options.one_hot = bit(3).then_some(3);
    options.sparse = bit(4);
    options.key = bit(5).then(|| "1".into());
    let open = || -> Result<Box<dyn Sequences>, ConvertError> {
        Ok(match choice & 3 {
            0 => Box::new(JsonLines::open(&Stores::local(), input, &options)?),
            1 => Box::new(Svm::open(&Stores::local(), input, &options, bit(6))?),
            _ => Box::new(Csv::open(&Stores::local(), input, &options)?),
        })
    };
    let form = if bit(7) { Form::Text } else { Form::Binary { chunk_bytes: 100 } };
    let Ok(mut table) = open() else { return };
    let Ok(written) = tesson_convert::write(&mut *table, output, Existing::Replace, form, &mut |_| ()) else {
        return;
    };
    let mut again = open().expect("it has been read before");
    let same = tesson::convert::verify(&mut *again, output, form, &written, &mut |_| ());
    same.expect("what was written is what was read");
}
