//! The text of help after the options: examples, which a test parses.

pub(super) const EXIT_CODES: &str = "\
Exit code: 0, or 1 for an error of data or storage, or 2 for an error of usage or configuration.

Environment: TESSON_KERNELS, TESSON_INDEX_DIR and TFDS_DATA_DIR; see docs/options.md.

Examples:
  tesson info train.ctf
  tesson read train.parquet --batch-size 256 --shuffle --take 3
  tesson read reader.json --minibatch-size 256 --take 3";

pub(super) const READ_EXAMPLES: &str = "\
Without an end given (`--sweeps`, `--samples`, `--epochs`, `--take`, or in the configuration) one sweep is read.

Examples:
  tesson read train.ctf --stream features:784 --stream labels:10:sparse
  tesson read train.ctf --stream features:784 --alias features=x --randomize false --json
  tesson read reader.json --minibatch-size 128*2:1024 --epochs 3 --seed 7
  tesson read reader.json --workers 4 --rank 1 --sharing position --json
  tesson read train.cntk DataDir=data --section Train/reader --take 3
  tesson read reader.json --take 100 --save-state at100.json
  tesson read reader.json --sweeps 1 --exclude-keys bad-keys.txt
  tesson read images.json --minibatch-size 64 --take 1 --preview sheet.png
  tesson read mnist/3.0.1 --split train[67%:84%] --take 20
  tesson read reader.json --state at100.json --take 100 --set deserializers[0].rules=cntk";

pub(super) const INFO_EXAMPLES: &str = "\
Examples:
  tesson info train.ctf
  tesson info reader.json --minibatch-size 1024 --json
  tesson info mnist/3.0.1
  tesson info train.parquet --stats
  tesson info mnist --data-dir tensorflow_datasets
  tesson info mnist-train.tfrecord-00000-of-00001
  tesson info reader.json --minibatch-size 1024 --bucketing";

pub(super) const PLAN_EXAMPLES: &str = "\
Each sequence is shown as chunk.sequence, both counted from 0 as stored. Truncated minibatches are shown slot by slot, with the \
samples of each segment, as if every sequence had its length in the index; sequences with faults may be shorter. `--step` and \
`--key` show the minibatches of all ranks unless one is named.

Examples:
  tesson plan train.ctf --stream features:784 --minibatch 256 --take 5
  tesson plan reader.json --minibatch-size-in-sequences 32 --take 5
  tesson plan mnist/3.0.1 --split train[67%:84%] --op shuffle=1000 --take 20
  tesson plan mnist/3.0.1 --split train[44%:45%] --files
  tesson plan reader.json --workers 4 --rank 3 --equal-steps drop --sweeps 1
  tesson plan reader.json --minibatch 256 --workers 2 --rank 0 --sweeps 2 --json
  tesson plan reader.json --minibatch 256 --workers 4 --step 81920
  tesson plan reader.json --minibatch 256 --key 4711 --sweep 3 --json
  tesson plan train.ctf --shuffle --certificate
  tesson plan reader.json --minibatch-size-in-sequences 1024 --workers 64 --sharing position --io";

pub(super) const REPORT_EXAMPLES: &str = "\
The page needs no other file and no network. Figures are those of a sample, the same one each time, unless the data are small or \
`--all` is given. Ctrl-C writes the page with what has been seen.

Examples:
  tesson report train.ctf
  tesson report photos -o photos.html --shuffle --workers 4
  tesson report reader.json --minibatch-size 1024 --all
  tesson report mnist/3.0.1 --split train -o mnist.html
  tesson report train.parquet --json
  tesson report monday.html tuesday.html";

pub(super) const SHOW_EXAMPLES: &str = "\
The values are those of the sweep: transforms have been applied with its random numbers.

Examples:
  tesson show train.ctf --stream features:784 --stream labels:10:sparse --key 4711
  tesson show reader.json --key 4711 --sweep 2 --json";

pub(super) const BENCH_EXAMPLES: &str = "\
The rates leave the first minibatch out. Without an end given whole sweeps are read, for at least a second. The last lines say what bounds the rate, beside reading the files alone on this machine.

Examples:
  tesson bench train.ctf --stream features:784 --stream labels:10:sparse --threads 1
  tesson bench reader.json --minibatch-size 4096 --seconds 10 --runs 3 --json";

pub(super) const CHECK_EXAMPLES: &str = "\
Exit code: 1 if there are faults, or notes (irregularities that are read all the same); 0 if there are only remarks.

Examples:
  tesson check train.ctf --stream features:784 --stream labels:10:sparse
  tesson check train.ctf --stream labels:10:sparse --rules cntk --json
  tesson check mnist-train.tfrecord-00000-of-00001 mnist-test.tfrecord-00000-of-00001
  tesson check mnist/3.0.1";

pub(super) const INDEX_EXAMPLES: &str = "\
A source with `cacheIndex` uses the cache as long as the file does not change. TFRecord files have an index each.

Examples:
  tesson index train.ctf --stream features:784 --stream labels:10:sparse
  tesson index reader.json --json
  tesson index mnist-train.tfrecord-00000-of-00001 --cache-dir indexes
  tesson index mnist/3.0.1";

pub(super) const CONFIG_EXAMPLES: &str = "\
The answer is {\"tree\": …, \"readers\": {path: …}}: variables replaced, options typed, defaults filled in. Unused options \
are listed on standard error.

Examples:
  tesson config train.cntk
  tesson config train.cntk DataDir=data Train=[reader=[randomize=false]]
  tesson config train.cntk --set Train.reader.randomizationSeed=7 --section Train/reader
  tesson config train.cntk --section Train/reader --to toml";

pub(super) const CONVERT_EXAMPLES: &str = "\
OUT appears when it is complete. It replaces an older file only with --force, and never an input. Formats are recognized by \
their extensions: ctf, txt (text), cbf (binary), mlf, bmlf (speech labels, text and binary), csv, tsv, svm, libsvm, jsonl; \
others need --from and --to.
Files of records (tfrecord, array_record) are converted to each other, record by record.
Speech labels are those of a configuration, whatever else it reads.
The binary format keeps no keys: its sequences are numbered from 0.
In tables each row is a sequence of one sample, in JSON lines of one or more; with --key-column rows and lines of a key that \
follow each other are one sequence.

Examples:
  tesson convert train.ctf train.cbf --stream features:784 --stream labels:10:sparse --verify
  tesson convert train.cbf train.ctf
  tesson convert train.csv train.cbf --label-column 0 --one-hot 10
  tesson convert train.csv train.ctf --header --key-column id --streams x=a,b,c --streams y=label
  tesson convert train.svm train.cbf --one-hot 2 --dim 95589
  tesson convert train.jsonl train.ctf --label-column class --one-hot 5
  tesson convert speech.cntk labels.bmlf --verify
  tesson convert mnist.tfrecord mnist.array_record --verify
  tesson convert mnist.array_record mnist.tfrecord";

pub(super) const STATE_EXAMPLES: &str = "\
With several files, what differs between them is shown. Ranks that share by position have one state, any of theirs; those that \
share by chunk have a state each, which `--merge` makes into one.

Examples:
  tesson state at100.json
  tesson state monday.json tuesday.json
  tesson state rank0.json rank1.json --merge both.json";

pub(super) const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  tesson completions bash
  tesson completions zsh
  tesson completions fish";

pub(super) const MAN_EXAMPLES: &str = "\
Examples:
  tesson man
  tesson man pages";

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Cli;

    fn examples(help: &str) -> Vec<&str> {
        help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|l| l.starts_with("tesson ")).collect()
    }

    #[test]
    fn every_command_has_examples_and_they_parse() {
        let mut command = Cli::command();
        command.build();
        for sub in command.get_subcommands().filter(|c| c.get_name() != "help") {
            let help = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples = examples(&help);
            assert!(!examples.is_empty(), "{} has no examples", sub.get_name());
            for example in examples {
                assert_eq!(example.split(' ').nth(1), Some(sub.get_name()), "{example}");
                if let Err(e) = Cli::try_parse_from(example.split_whitespace()) {
                    panic!("{example}: {e}");
                }
            }
        }
        for example in examples(EXIT_CODES) {
            assert!(Cli::try_parse_from(example.split_whitespace()).is_ok(), "{example}");
        }
    }

    #[test]
    fn the_declaration_is_consistent() {
        Cli::command().debug_assert();
    }
}
