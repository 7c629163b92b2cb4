//! OpenCV's files of matrices, XML or YAML, as far as mean images and axes of colour need them
//! (spec/image.md §7 and §8).

use super::fault::TransformFault;

/// A node of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub contents: Contents,
}

/// The contents of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Contents {
    /// Text, such as a number.
    Scalar(String),
    /// A matrix of floating-point numbers.
    Matrix {
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
        /// Row after row; the channels of an element are adjacent.
        values: Vec<f32>,
    },
}

fn fault(what: impl Into<String>) -> TransformFault {
    TransformFault::Storage { what: what.into() }
}

/// The top-level nodes of a file that are scalars or matrices.
///
/// # Errors
/// The file is neither XML nor YAML, truncated, or has a matrix of other numbers or with too few or many of them.
pub fn parse(file: &[u8]) -> Result<Vec<Node>, TransformFault> {
    let text = std::str::from_utf8(file).map_err(|_| fault("it is no text"))?;
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let nodes = if text.starts_with("%YAML") { yaml(text)? } else { xml(text)? };
    nodes.into_iter().map(|(name, fields)| Ok(Node { contents: contents(&name, fields)?, name })).collect()
}

/// The number of a scalar node; 0 if it is missing, as in the reference.
pub(super) fn number(nodes: &[Node], name: &str) -> usize {
    let scalar = nodes.iter().find_map(|node| match &node.contents {
        Contents::Scalar(text) if node.name == name => Some(text),
        _ => None,
    });
    scalar.and_then(|text| text.trim().parse::<f64>().ok()).map_or(0, |x| x as usize)
}

/// The size and values of a matrix.
pub(super) fn matrix(nodes: Vec<Node>, name: &str) -> Result<(usize, usize, Vec<f32>), TransformFault> {
    let found = nodes.into_iter().find_map(|node| match node.contents {
        Contents::Matrix { rows, cols, values } if node.name == name => Some((rows, cols, values)),
        _ => None,
    });
    found.ok_or_else(|| fault(format!("there is no matrix `{name}`")))
}

/// A node as text: its own, or its fields by name.
enum Raw<'a> {
    Scalar(&'a str),
    Fields(Vec<(&'a str, &'a str)>),
}

fn contents(name: &str, raw: Raw<'_>) -> Result<Contents, TransformFault> {
    let fields = match raw {
        Raw::Scalar(text) => return Ok(Contents::Scalar(text.trim().to_owned())),
        Raw::Fields(fields) => fields,
    };
    let field = |of: &str| {
        let found =
            fields.iter().find(|(field, _)| *field == of).map(|(_, text)| text.trim().trim_matches('"'));
        found.ok_or_else(|| fault(format!("`{name}` has no `{of}`")))
    };
    let count =
        |of: &str| field(of)?.parse::<usize>().map_err(|_| fault(format!("`{of}` of `{name}` is no number")));
    let (rows, cols) = (count("rows")?, count("cols")?);
    let dt = field("dt")?;
    let channels = dt.trim_end_matches(['f', 'd']);
    let channels = if channels.is_empty() { Some(1) } else { channels.parse::<usize>().ok() };
    let Some(channels) = channels.filter(|_| dt.ends_with(['f', 'd'])) else {
        return Err(fault(format!("`{name}` has numbers of type `{dt}`, expected `f` or `d`")));
    };
    let numbers = field("data")?.split(|c: char| c.is_whitespace() || "[],".contains(c));
    let values: Vec<f32> = numbers
        .filter(|number| !number.is_empty())
        .map(|number| real(number).ok_or_else(|| fault(format!("`{number}` in `{name}` is no number"))))
        .collect::<Result<_, _>>()?;
    match rows.checked_mul(cols).and_then(|n| n.checked_mul(channels)) {
        Some(n) if n == values.len() => Ok(Contents::Matrix { rows, cols, values }),
        _ => Err(fault(format!(
            "`{name}` declares {rows} by {cols} elements and has {} numbers",
            values.len()
        ))),
    }
}

fn real(text: &str) -> Option<f32> {
    match text {
        ".Inf" | "+.Inf" => Some(f32::INFINITY),
        "-.Inf" => Some(f32::NEG_INFINITY),
        ".Nan" | ".NaN" => Some(f32::NAN),
        _ if text.contains(|c: char| c.is_ascii_alphabetic() && !"eE".contains(c)) => None,
        _ => text.parse().ok(),
    }
}

/// The elements within `opencv_storage`.
fn xml(text: &str) -> Result<Vec<(String, Raw<'_>)>, TransformFault> {
    let mut rest = text;
    loop {
        let (name, _, content, after) = element(rest).ok_or_else(|| fault("it is neither XML nor YAML"))?;
        if name == "opencv_storage" {
            return elements(content)?.into_iter().map(|(name, content)| node(name, content)).collect();
        }
        rest = after;
    }
}

fn node<'a>(name: &'a str, content: &'a str) -> Result<(String, Raw<'a>), TransformFault> {
    let raw = if content.contains('<') { Raw::Fields(elements(content)?) } else { Raw::Scalar(content) };
    Ok((name.to_owned(), raw))
}

/// The elements of a text that has nothing else but white space and comments.
fn elements(mut text: &str) -> Result<Vec<(&str, &str)>, TransformFault> {
    let mut found = Vec::new();
    while text.contains('<') {
        match element(text) {
            Some((name, _, content, after)) => {
                found.push((name, content));
                text = after;
            }
            None if markup_only(text) => break,
            None => return Err(fault("an element of the XML does not end")),
        }
    }
    Ok(found)
}

/// True if a text has no elements, only comments.
fn markup_only(text: &str) -> bool {
    text.split('<').skip(1).all(|markup| markup.starts_with(['!', '?']))
}

/// The first element: name, attributes, content, and the text after it.
fn element(text: &str) -> Option<(&str, &str, &str, &str)> {
    let mut rest = text;
    loop {
        let open = rest.find('<')?;
        rest = &rest[open + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = &comment[comment.find("-->")? + 3..];
        } else if rest.starts_with(['?', '!']) {
            rest = &rest[rest.find('>')? + 1..];
        } else {
            break;
        }
    }
    let (tag, content) = rest.split_once('>')?;
    let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    if let Some(name) = tag.strip_suffix('/') {
        return Some((name.split_whitespace().next()?, "", "", content));
    }
    // In these files no element contains another of its name.
    let end = format!("</{name}");
    let at = content.find(&end)?;
    let after = &content[at..];
    Some((name, attributes, &content[..at], &after[after.find('>')? + 1..]))
}

/// The nodes of YAML as OpenCV writes it: indented fields, data between brackets.
fn yaml(text: &str) -> Result<Vec<(String, Raw<'_>)>, TransformFault> {
    let mut nodes: Vec<(String, Raw<'_>)> = Vec::new();
    let body = text.split_once('\n').map_or("", |(_, body)| body);
    let mut at = 0;
    while at < body.len() {
        let end = body[at..].find('\n').map_or(body.len(), |n| at + n);
        let line = &body[at..end];
        let mut next = end + 1;
        let pair = line.split_once(':').filter(|_| !line.trim_start().starts_with(['#', '-']));
        if let Some((name, value)) = pair {
            let mut value = value.trim();
            if value.starts_with('[') {
                let from = at + line.find('[').unwrap_or(0);
                let to = body[from..].find(']').ok_or_else(|| fault("a list of the YAML does not end"))?;
                (value, next) = (&body[from..=from + to], from + to + 1);
            }
            let indented = name.starts_with([' ', '\t']);
            match nodes.last_mut() {
                Some((_, Raw::Fields(fields))) if indented => fields.push((name.trim(), value)),
                _ if indented => return Err(fault(format!("`{}` belongs to nothing", name.trim()))),
                _ if value.starts_with("!!opencv-matrix") || value.is_empty() => {
                    nodes.push((name.trim().to_owned(), Raw::Fields(Vec::new())));
                }
                _ => nodes.push((name.trim().to_owned(), Raw::Scalar(value))),
            }
        }
        at = next;
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const XML: &str = "<?xml version=\"1.0\"?>\n<opencv_storage>\n<!-- a mean -->\n<Row>2</Row><M type_id=\"opencv-matrix\">\n\
        <cols>1</cols> <rows>2</rows> <dt>\"2f\"</dt> <data>\n 1. -2.5e+01\n .Inf 4</data></M></opencv_storage>\n";
    const YAML: &str = "%YAML:1.0\n---\nRow: 2\nM: !!opencv-matrix\n   rows: 2\n   cols: 1\n   dt: \"2f\"\n   \
        data: [ 1., -2.5e+01,\n       .Inf, 4 ]\n";

    #[test]
    fn matrices_are_read_from_xml_and_yaml() {
        for text in [XML, YAML] {
            let nodes = parse(text.as_bytes()).expect("a whole file");
            assert_eq!(number(&nodes, "Row"), 2);
            assert_eq!(number(&nodes, "Col"), 0);
            assert_eq!(matrix(nodes, "M"), Ok((2, 1, vec![1.0, -25.0, f32::INFINITY, 4.0])));
        }
    }

    #[test]
    fn damaged_files_are_errors_and_no_cut_file_panics() {
        for text in [XML, YAML] {
            for end in 0..text.len() {
                if let Ok(nodes) = parse(&text.as_bytes()[..end]) {
                    assert!(matrix(nodes, "M").is_err() || end + 2 > text.trim_end().len(), "cut to {end}");
                }
            }
            assert!(parse(text.replace("2f", "u").as_bytes()).is_err());
            assert!(parse(text.replace("2.5", "2,5,5").as_bytes()).is_err());
            assert!(parse(text.replace("2.5", "0x5").as_bytes()).is_err());
        }
        assert!(parse(b"mean").is_err() && parse(b"\xff\xfe").is_err() && parse(b"").is_err());
    }
}
