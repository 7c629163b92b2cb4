//! Faults of a configuration as a text, before its options mean anything.

tesson_core::error_kinds! {
    /// A fault of the text of a configuration, or of the arguments beside it.
    pub enum TextFault {
        /// A quote is not closed on its line.
        OpenQuote
            = "config.open-quote": "found no closing `\"`, expected one on the same line"
            => in manual "Close the quote.",
        /// A bracket is closed by one of another form, or none is open.
        Unmatched { found: char = ')', expected: char = ']' }
            = "config.unmatched-bracket": "unmatched `{found}`, expected `{expected}`"
            => in manual "Close each bracket by one of its form.",
        /// A bracket is not closed.
        Unclosed { expected: char = ']' }
            = "config.unclosed-bracket": "found no closing `{expected}` for this bracket, expected one before the end"; "add it"
            => "Close the bracket.",
        /// A value has no name.
        Nameless
            = "config.value-without-name": "a value without a name, expected `name = value`"
            => in manual "Write the name before the value.",
        /// A name has no value.
        Valueless { name: String = "dim".into() }
            = "config.name-without-value": "no value for `{name}`"
            => in manual "Write a value after the name, or leave it out.",
        /// Brackets lie too deep within each other.
        TooDeep { most: usize = 100 }
            = "config.too-deep": "more than {most} brackets within each other"
            => in manual "Nest fewer sections.",
        /// A repeat count is 0.
        NoRepeats
            = "config.no-repeats": "found a repeat count of 0, expected at least 1"
            => in manual "Repeat the item at least once, or leave it out.",
        /// A variable within a text is no text.
        VariableKind { name: String = "Model".into() }
            = "config.variable-kind": "the variable `${name}$` is a section or a list, a text is expected within a text"
            => in manual "Name a variable that is a text.",
        /// A variable needs itself.
        CircularVariable { name: String = "Dir".into() }
            = "config.circular-variable": "the variable `${name}$` needs itself"; "give it as `{name}=…` after the file"
            => "Give the variable as an argument, or break the circle.",
        /// Too many variables name each other in turn.
        LongChain { name: String = "Dir".into(), most: usize = 100 }
            = "config.long-chain": "`${name}$` ends a chain of more than {most} variables"
            => in manual "Name fewer variables by each other.",
        /// Variables and repeat counts make too large a text.
        TooLargeAsWhole
            = "config.too-large-as-whole": "with its variables and repeat counts the configuration is larger than 64 MiB"
            => in manual "Check the repeat counts and the variables.",
        /// There is no variable of this name.
        UndefinedVariable { name: String = "DataDri".into(), nearest: Option<String> = Some("DataDir".into()) }
            = "config.undefined-variable": "no variable `${name}$`"; (if nearest.is_none() => "give it as `{name}=…` after the file"),
                (if let Some(near) = nearest => "did you mean `${near}$`?")
            => "Give the variable as an argument, or correct its name.",
        /// A file is named twice.
        FileTwice
            = "config.file-twice": "the file is named twice, once is enough"
            => in manual "Name the file once.",
        /// The files of a configuration are larger than meant, or include each other too deep.
        TooLarge
            = "config.too-large": "the configuration is too large, at most 64 MiB of text and 32 files within each other"
            => in manual "Check that the file is a configuration, and what it includes.",
        /// A file of the configuration cannot be read.
        Unreadable { what: String = "a.cntk: entity not found".into() }
            = "config.unreadable": "{what}"
            => in manual "Check the path of the file.",
        /// A text is not JSON.
        NotJson { line: usize = 3, column: usize = 8, what: String = "found a comma after the last entry, leave it out".into() }
            = "config.not-json": "line {line}, column {column}: {what}"
            => in manual "Correct the text at the place that the message names.",
        /// A text is not TOML.
        NotToml { line: usize = 3, column: usize = 8, what: String = "invalid string".into() }
            = "config.not-toml": "line {line}, column {column}: {what}"
            => in manual "Correct the text at the place that the message names.",
        /// Something that TOML cannot hold is to be written as TOML.
        NoToml { what: String = "unsupported unit type".into() }
            = "config.no-toml": "no TOML: {what}"
            => in manual "Write the configuration as JSON.",
        /// A configuration is not an object.
        NoObject { found: &'static str = "a list" }
            = "config.no-object": "found {found}, expected an object `{{…}}`"
            => in manual "Put the options into an object.",
        /// A list has an entry without a value.
        NullEntry
            = "config.null-entry": "found `null`, expected a value"
            => in manual "Leave the entry out.",
        /// An argument is no assignment.
        NoAssignment { argument: String = "dim".into() }
            = "config.no-assignment": "found the argument `{argument}`, expected `name=value`"
            => in manual "Write the argument as `name=value`.",
        /// An argument is for a section that the files have under another name.
        MisspeltSection {
            argument: String = "Tt=[reader=[randomize=false]]".into(),
            name: String = "Tt".into(),
            nearest: String = "T".into()
        }
            = "config.misspelt-section": "argument `{argument}`: found nothing called `{name}`, did you mean `{nearest}`?"
            => in manual "Correct the name of the section.",
        /// An argument of BrainScript stands after another form of configuration.
        ArgumentOfOtherForm { argument: String = "dim=3".into() }
            = "config.argument-of-other-form": "found the argument `{argument}` after JSON or TOML, expected overrides by path"
            => in manual "Set options of JSON and TOML by their paths.",
        /// An override has no path, or no value.
        NoOverride { text: String = "maxErrors".into() }
            = "config.no-override": "found `{text}`, expected `path.to.option=value`"
            => in manual "Write the override as `path.to.option=value`.",
        /// An override has nothing after its `=`.
        NoValue { path: String = "maxErrors".into() }
            = "config.no-value": "found no value, expected one after `=`"; "write `'{path}=\"\"'`, with both quotes, for an empty text"
            => "Give the option a value.",
        /// A path leads to a section that does not exist.
        NoSection {
            name: String = "raeder".into(),
            there: Vec<String> = vec!["reader".into(), "SGD".into()],
            nearest: Option<String> = Some("reader".into()),
            remedy: Option<String> = None
        }
            = "config.no-section": "found nothing called `{name}`"; (of nothing_called(nearest.as_ref(), remedy.as_ref(), there)),
                (if let Some(near) = nearest => "did you mean `{near}`?")
            => in manual "Correct the path.",
        /// A step of a path is no name.
        BadStep { step: String = "list[".into() }
            = "config.bad-step": "found `{step}`, expected a name such as `file` or `list[0]`"
            => in manual "Correct the path.",
        /// A path leads through a value that is no section.
        NoSectionThere { name: String = "maxErrors".into(), found: String = "`3`".into() }
            = "config.no-section-there": "`{name}` is {found}, expected a section"
            => in manual "Correct the path.",
        /// A path leads through a list without saying which entry.
        ListOnTheWay { name: String = "deserializers".into(), found: String = "a list".into() }
            = "config.list-on-the-way": "`{name}` is {found}, expected a section, or one of its entries: `{name}[0]` is the first"
            => in manual "Say which entry of the list is meant.",
        /// A path names a place of a list that has no entries.
        EmptyList { place: usize = 0, name: String = "deserializers".into() }
            = "config.empty-list": "found place {place}, but `{name}` has no entries"
            => in manual "Correct the path.",
        /// A path names a place that a list does not have.
        NoPlace { place: usize = 3, last: usize = 1, name: String = "deserializers".into() }
            = "config.no-place": "found place {place}, expected one from 0 to {last}, those of `{name}`"
            => in manual "Places count from 0; correct the path.",
        /// A path names a place of a value that is no list.
        NoList { name: String = "maxErrors".into(), found: String = "`3`".into() }
            = "config.no-list": "`{name}` is {found}, expected a list"
            => in manual "Correct the path.",
        /// A path names a place of a list that does not exist.
        NoSuchList { name: String = "desrializers".into(), near: Option<String> = Some("deserializers".into()) }
            = "config.no-such-list": "there is no list `{name}`", (if let Some(near) = near => "did you mean `{near}`?")
            => in manual "Correct the path.",
        /// A section of a configuration does not exist.
        UnknownSection { path: String = "train.reader".into(), name: String = "train".into(), there: Vec<String> = vec!["Train".into()] }
            = "config.unknown-section": ("section `{path}`: there is no section `{name}`{}", if there.is_empty() {
                ", the reader's options are not in a section".into()
            } else {
                format!(" (sections here: {})", there.join(", "))
            }); (if there.is_empty() => "leave the section out")
            => in manual "Name a section that there is.",
        /// A configuration is empty.
        Empty
            = "config.empty": "found no section `reader`, the configuration is empty; expected `reader = [ deserializers = ( … ) ]`"
            => in manual "Write the section of a reader.",
        /// The options of a reader are in no section.
        OutsideOfReader { name: String = "deserializers".into() }
            = "config.outside-of-reader": "found no section `reader`, but `{name}` outside of one"; "write `reader = [ {name} = … ]` \
                around the reader's options"
            => "Put the options of the reader into a section of its own.",
        /// No section is called as those of readers are, and one is like it.
        LikeReader { name: String = "raeder".into() }
            = "config.like-reader": "found no section `reader`, but `{name}`"; "is that what it is meant to be?"
            => "Correct the name of the section.",
        /// There is no reader among the sections.
        NoReader { there: String = "train, test".into() }
            = "config.no-reader": "found no section `reader` among the sections (found at the top: {there})"; "add `reader = [ … ]`"
            => "Add the section of a reader.",
        /// The text is no configuration.
        NoConfiguration
            = "config.no-configuration": "found no section `reader`, and no configuration at all"; "if this is a file of data, expected \
                the configuration that names it, or a deserializer such as CNTKTextFormatDeserializer"
            => "Name the configuration instead of the data.",
        /// There are readers, but not this one.
        OtherReaders { there: String = "train/reader, test/reader".into(), nearest: Option<String> = Some("train/reader".into()) }
            = "config.other-readers": "found no such reader, expected one of {there}"; (of Some(match nearest {
                Some(near) => format!("did you mean `{near}`?"),
                None => "name one of them".into(),
            }))
            => "Name one of the readers.",
    }
}

/// Says what may help where a section is missing and none is like it.
fn nothing_called(nearest: Option<&String>, remedy: Option<&String>, there: &[String]) -> Option<String> {
    match (nearest, remedy) {
        (Some(_), _) => None,
        (None, Some(remedy)) => Some(remedy.clone()),
        (None, None) => (!there.is_empty()).then(|| format!("there are {}", there.join(", "))),
    }
}
