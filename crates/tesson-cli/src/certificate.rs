//! `tesson plan --certificate`: the digest of an order, and whether another one is the same.

use tesson_plan::Limit;

use crate::args::PlanArgs;
use crate::extensions::Extensions;
use crate::failure::Failure;
use crate::output::{Output, counted};
use crate::progress::Progress;
use crate::{input, report};

/// Digits of a digest.
const DIGITS: usize = 32;

pub(crate) fn run(args: &PlanArgs, extensions: &dyn Extensions, out: &mut Output) -> Result<(), Failure> {
    let expected = args.certificate.as_deref().filter(|digest| !digest.is_empty());
    if let Some(digest) = expected
        && (digest.len() != DIGITS || !digest.bytes().all(|b| b.is_ascii_hexdigit()))
    {
        let what = format!(
            "--certificate {digest}: expected {DIGITS} hexadecimal digits, as `--certificate` alone prints them"
        );
        return Err(Failure::Usage(what));
    }
    let common = &args.common;
    let (config, mut source) = input::open_adjusted(common, extensions, |config| {
        input::size_buckets(config, &common.order, args.minibatch);
        config.minibatches.limit = Limit::Sweeps(1);
    })?;
    let words = report::certificate_command(&common.input.words);
    let made = Progress::during("planning", || tesson_report::certificate(&mut source, &config, words))?;
    let is_same = expected.map(|digest| digest.eq_ignore_ascii_case(&made.digest));
    if out.is_json() {
        let mut json = serde_json::to_value(&made).expect("a certificate is texts and numbers");
        if let Some(is_same) = is_same {
            json["matches"] = is_same.into();
        }
        out.json(&json)?;
    } else {
        out.pair("order", &format!("{} (version {})", made.order, made.order_version))?;
        if let Some(grouping) = &made.grouping {
            out.pair("minibatches", &grouping.words)?;
        }
        out.pair(
            "examples",
            &format!("{} of {}", counted(made.examples, "example"), counted(made.samples, "sample")),
        )?;
        out.pair("first keys", &made.first.join(", "))?;
        out.pair("last keys", &made.last.join(", "))?;
        out.pair("digest", &format!("{} of {}", made.digest, counted(made.positions, "position")))?;
        if is_same == Some(true) {
            out.pair("compared", "the same examples in the same order")?;
        }
    }
    match (is_same, expected) {
        (Some(false), Some(digest)) => Err(Failure::File(format!(
            "the order is another one: found {}, expected {digest}; compare data, `--seed` and order with those of the certificate",
            made.digest
        ))),
        _ => Ok(()),
    }
}
