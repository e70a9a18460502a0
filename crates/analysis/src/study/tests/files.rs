//! Mistakes in files of studies.

use super::*;
use testing::rows;

#[test]
fn mistakes_are_reported_with_line_and_column() {
    assert_eq!(parse(SMALL, Size::Full).unwrap().measure[0].params["workers"], ["2"]);
    for [old, new, message] in rows(
        r#"
        name = "s" | name = "a b" | line 2, column 8: a name consists of
        title = "t"\nquestion | question | missing key `title`
        n = ["1", "2"] | n = ["1"] | line 7, column 1: n needs two values
        n = ["1", "2"] | n = ["1", "$m"] | line 7, column 1: "$m" has a $
        n = ["1", "2"] | row = ["1", "2"] | cannot be the name of a size
        cases = ["lock/futex"] |  | line 8, column 1: missing key `cases` in `measure`
        workers = ["$n"] | workers = ["$m"] | line 10, column 12: "$m" names no value
        columns = [{ title = "c" }] | columns = [] | a table has 1 to 40 columns
        columns = [{ title = "c" }] | columns = [{ titel = "c" }] | line 14, column 14: unknown key `titel`, expected
        published = ["1"] | published = ["1", "2"] | line 17, column 14: published has 2
        published = ["1"] | publisched = ["1"] | line 17, column 1: unknown key `publisched`, expected
        point = { case = "lock/futex" | point = { case = "lock/futx" | line 18, column 18: no case
        point = { case = "lock/futex", params | over = { case = "lock/futex", params | the row has no point
        $n" } }\n[[claim]] | $column" } }\n[[claim]] | $column stands for nothing
        workers = "$n" } }\nrelation | workers = "$n", as = "$x" } }\nrelation | line 22, column 55: "$x" names no value
        value < 1 us | value < 1 kg | "kg" is no unit of time
        title = "t"\nquestion | precision = 2\ntitle = "t"\nquestion | precision is a share
        title = "t"\nquestion | budget = "2"\ntitle = "t"\nquestion | line 3, column 10: budget:
        claim = "c" | claim = "d" | [[about]] of "d", which is no claim
        claim = "c" | claim = "c"\nderived = 3 | line 26, column 11: invalid type: integer `3`, expected a boolean
        "#,
    ) {
        let [old, new] = [old, new].map(|text| text.replace("\\n", "\n"));
        let text = SMALL.replace(&old, &new);
        assert_ne!(text, SMALL, "{old}");
        let error = parse(&text, Size::Default).unwrap_err().to_string();
        assert!(error.starts_with("line ") && error.contains(message), "{message:?}: {error}");
    }
    let long = format!("{SMALL}# {}", "x".repeat(1 << 20));
    assert!(parse(&long, Size::Default).unwrap_err().to_string().contains("1024 KiB"));
    let nothing = "name = \"s\"\ntitle = \"t\"\nquestion = \"q\"\nsource = \"o\"";
    assert!(parse(nothing, Size::Default).unwrap_err().to_string().contains("neither points"));
}
