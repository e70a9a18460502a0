use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

struct Written {
    folder: TempDir,
}

impl Written {
    fn new(contents: impl AsRef<[u8]>) -> Self {
        let written = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(written.path(), contents).unwrap();
        written
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("list.csv")
    }

    fn open(&self) -> List {
        List::open(&self.path(), None).unwrap_or_else(|e| panic!("{e}"))
    }
}

fn fault(contents: impl AsRef<[u8]>) -> String {
    let written = Written::new(contents);
    let error = List::open(&written.path(), None).unwrap_err().to_string();
    assert!(error.contains("list.csv"), "{error}");
    error
}

fn addresses(list: &List) -> Vec<String> {
    let mut reader = list.reader();
    let mut numbers: Vec<u32> =
        (0..list.domains()).flat_map(|d| list.members(d).iter().copied()).collect();
    numbers.sort_unstable();
    numbers.iter().map(|n| reader.record(*n).unwrap().address.to_string()).collect()
}

#[test]
fn exports_of_other_programs_are_understood() {
    for (header, column) in [
        // Mailchimp's own header; the street is `Address`.
        ("Email Address,First Name,Last Name,Address,Phone Number", 0),
        ("Name,Address,E-mail 1 - Value", 2),
        ("Name,E-Mail Address", 1),
        ("address,EMAIL_ADDRESS", 1),
        ("Address,Mail", 1),
        ("Address,Name", 0),
    ] {
        let written = Written::new(format!("{header}\n"));
        let first = csv::StringRecord::from(header.split(',').collect::<Vec<_>>());
        let layout = super::layout::Layout::of(&written.path(), &first, None).unwrap();
        assert_eq!(layout.address_column, column, "{header}");
    }
}

#[test]
fn a_column_without_addresses_beside_one_with_is_an_error() {
    let error = fault("Name,Address,Contact\nJo,1 Main St,jo@a.test\nAl,2 Main St,al@a.test\n");
    assert!(error.contains("no address in its column \"Address\", but in \"Contact\""), "{error}");
    assert!(error.contains("--address-column"), "{error}");
    // One valid address is enough, and a list without any address has its errors.
    let mixed = "Address,Contact\n1 Main St,jo@a.test\nal@a.test,x\n";
    assert_eq!(Written::new(mixed).open().bad_numbers(), [0]);
    assert_eq!(Written::new("Address,Name\nx,y\n").open().bad_numbers(), [0]);
}

#[test]
fn rows_without_text_are_no_recipients() {
    let list = "email,name,city\n,,\njo@a.test,Jo,\n , ,\t\nal@a.test,,\n,,\n,,\n";
    let list = Written::new(list);
    let opened = list.open();
    assert_eq!(addresses(&opened), ["jo@a.test", "al@a.test"]);
    assert_eq!((opened.len(), opened.bad_numbers().len()), (2, 0));
    assert_eq!(opened.record(1).unwrap().line, 5);
    // A row with text and no address is an error of the list.
    assert_eq!(Written::new("email,name\n,Jo\n").open().bad_numbers(), [0]);
}

#[test]
fn invisible_characters_around_an_address_are_dropped() {
    for invisible in
        ["\u{200b}", "\u{feff}", "\u{2060}", "\u{a0}", "\u{200e}", "\u{ad}", "\u{200d}"]
    {
        let list = Written::new(format!("email\n{invisible}jo@a.test{invisible}\n"));
        assert_eq!(addresses(&list.open()), ["jo@a.test"], "{invisible:?}");
    }
    // Within an address nobody sees them, and no other character could be meant.
    assert_eq!(Written::new("email\nj\u{200b}o@a.test\n").open().bad_numbers(), [0]);
}

#[test]
fn a_list_is_read_by_record_and_domain() {
    let written = Written::new(
        "\u{feff}name, E-Mail ,city\r\nJo,jo@b.test,\"A, B\"\r\n\r\nAl, al@A.test ,\"x\r\n\"\"y\"\"\"\r\nBo,bo@b.test,",
    );
    let list = written.open();
    assert_eq!(list.columns(), ["name", "E-Mail", "city"]);
    assert_eq!((list.len(), list.deliverable(), list.domains()), (3, 3, 2));
    assert_eq!((list.domain_name(0), list.members(0)), ("b.test", &[0, 2][..]));
    assert_eq!((list.domain_name(1), list.members(1)), ("a.test", &[1][..]));
    let jo = list.record(0).unwrap();
    assert_eq!((jo.line, &jo.values[2]), (2, "A, B"));
    let al = list.record(1).unwrap();
    assert_eq!((al.number, al.line, &*al.address.to_string()), (1, 4, "al@a.test"));
    assert_eq!(&al.values[2], "x\r\n\"y\"");
    assert_eq!(list.record(2).unwrap().line, 6);
    assert_eq!(list.record(3).unwrap_err().kind(), io::ErrorKind::InvalidInput);
}

#[test]
fn a_header_is_known_by_its_names() {
    for name in ["email", "Email", "E-MAIL", "address", "Mail", "recipient"] {
        let list = Written::new(format!("x,{name}\n1,jo@x.test\n")).open();
        assert_eq!((list.len(), list.address_column()), (1, 1), "{name}");
    }
    let bare = Written::new("\u{feff}jo@x.test,Jo\nal@x.test,Al\n").open();
    assert_eq!((bare.columns(), bare.len()), (&["1".to_owned(), "2".to_owned()][..], 2));
    assert_eq!(bare.record(0).unwrap().line, 1);
    assert_eq!(Written::new("jo@x.test").open().len(), 1);
}

#[test]
fn a_column_may_be_asked_for() {
    let written = Written::new("email,work\njo@x.test,jo@work.test\n");
    let open = |asked| List::open(&written.path(), Some(asked));
    assert_eq!(open("WORK").unwrap().record(0).unwrap().address.domain(), "work.test");
    let error = open("home").unwrap_err().to_string();
    assert!(error.contains("\"home\"") && error.contains("\"email\", \"work\""), "{error}");
    let bare = Written::new("Jo,jo@x.test\n");
    let list = List::open(&bare.path(), Some("2")).unwrap();
    assert_eq!((list.len(), list.address_column()), (1, 1));
    assert!(List::open(&bare.path(), Some("3")).is_err());
}

#[test]
fn says_what_is_wrong_with_a_list() {
    let missing = List::open(Path::new("no/such/list.csv"), None).unwrap_err();
    assert!(matches!(missing, ListError::Read { .. }));
    let folder = tempfile::tempdir().unwrap();
    assert!(List::open(folder.path(), None).is_err());
    assert!(fault("").contains("no recipients"));
    assert!(fault("\n\n").contains("no recipients"));
    assert!(fault("email,name\n").contains("no recipients"));
    let columns = fault("name;email\nJo;jo@x.test\n");
    assert!(columns.contains("\"name;email\"") && columns.contains("commas"), "{columns}");
    let fields = fault("email,name\njo@x.test,Jo\n\nal@x.test\n");
    assert!(
        fields.contains("line 4: the number of fields is 1, but that of columns is 2"),
        "{fields}"
    );
    let fields = fault("email,name\njo@x.test,\"Jo\nal@x.test,Al\nbo@x.test,\"Bo\"\n");
    assert!(fields.contains("line 2: a field begins with a quotation mark"), "{fields}");
    let fields = fault("email,name\njo@x.test,\"Jo\nSmith\",x\n");
    assert!(
        fields.contains("line 2: the number of fields is 3")
            && fields.contains("goes on to line 3"),
        "{fields}"
    );
    let quote = fault("email,name\njo@x.test,Jo\nal@x.test,\"Al\nbo@x.test,Bo\n");
    assert!(quote.contains("line 3: a field begins with a quotation mark"), "{quote}");
    assert!(fault("email\n\"").contains("line 2: a field begins with a quotation mark"));
    assert!(
        fault(b"email\njo@x.test\n\xff@x.test\nal@x.test\n").contains("line 3: this is not UTF-8")
    );
}

#[test]
fn a_record_without_end_is_given_up() {
    let rest = "al@x.test,x\n".repeat(300_000);
    let swallowed = fault(format!("email,name\n\njo@x.test,\"Jo\n{rest}"));
    assert!(swallowed.contains("line 3: a record of more than 1 MiB"), "{swallowed}");
    let just = format!("email,name\njo@x.test,{}\n", "x".repeat((1 << 20) - 11));
    assert_eq!(Written::new(&just).open().len(), 1);
    assert!(fault(just.replace("x\n", "xx\n")).contains("line 2: a record of more than 1 MiB"));
}

#[test]
fn bad_addresses_are_told_apart() {
    let list = Written::new("email\njo@x.test\n\n jo smith@x.test\nal@x.test\n\"\"\n").open();
    let bad: Vec<_> = list.bad().collect();
    assert_eq!((list.len(), list.deliverable(), bad.len()), (4, 2, 2));
    assert_eq!((bad[0].0, bad[0].1, bad[1].0, bad[1].1), (1, 4, 3, 6));
    assert!(bad[0].2.contains("' '") && bad[1].2.contains("no address"), "{bad:?}");
    assert_eq!(list.bad_numbers(), [1, 3]);
    let error = list.record(1).unwrap_err();
    assert!(error.to_string().contains("line 4"), "{error}");
    let none = Written::new("email\nnobody\n").open();
    assert_eq!((none.len(), none.domains(), none.deliverable()), (1, 0, 0));
}

#[test]
fn only_the_first_of_equal_addresses_counts() {
    let list =
        Written::new("email\njo@x.test\nal@y.test\nJo@x.test\njo@X.test\njo@y.test\njo@x.test\n")
            .open();
    assert_eq!((list.len(), list.duplicates(), list.deliverable()), (6, 2, 4));
    assert_eq!((list.members(0), list.members(1)), (&[0, 2][..], &[1, 4][..]));
}

#[test]
fn equal_hashes_drop_nobody() {
    let list = &mut Written::new("email\njo@x.test\nal@x.test\njo@x.test\nbo@x.test\n").open();
    (list.members, list.starts, list.duplicates) = (vec![0, 1, 2, 3], vec![0, 4], 0);
    opening::drop_duplicates(list, vec![0; 4], &[7; 4]).unwrap();
    assert_eq!((list.members(0), list.duplicates()), (&[0, 1, 3][..], 1));
}

#[test]
fn a_changed_list_is_noticed() {
    let written = Written::new("email,name\njo@x.test,Jo\nal@x.test,Al\n");
    let list = written.open();
    let before = list.fingerprint().to_owned();
    assert_eq!(written.open().fingerprint(), before);
    for contents in [
        "email,name\njo@x.test,Jx\nal@x.test,Al\n",
        "email,name\njo@x.tes,tJo\nal@x.test,Al\n",
        "email,name\njo@x\n",
        "email,name\njo@x.test,\"o\nal@x.test,Al\n",
    ] {
        fs::write(written.path(), contents).unwrap();
        let error = list.reader().record(0).unwrap_err();
        assert!(error.to_string().contains("line 2: the list was changed"), "{error}");
    }
    fs::write(written.path(), "email,name\njo@x.test,Jo\nal@x.test,Ax\n").unwrap();
    assert_ne!(written.open().fingerprint(), before);
    let mut reader = list.reader();
    assert!(reader.record(1).is_err());
    assert_eq!(reader.record(0).unwrap().number, 0);
}

#[test]
fn joined_files_keep_their_mark_out_of_addresses() {
    let list = Written::new(
        "\u{feff}email\njo@x.test\n\u{feff}al@x.test\n\u{feff}\n\u{feff}\"bo@x.test\"\n",
    )
    .open();
    assert_eq!(addresses(&list), ["jo@x.test", "al@x.test"]);
    assert_eq!(list.record(1).unwrap().address.local(), "al");
    let bad: Vec<_> = list.bad().collect();
    assert_eq!(bad.len(), 2, "{bad:?}");
    assert!(bad[0].2.contains("no address") && bad[1].2.contains("quotation mark"), "{bad:?}");
}

#[test]
fn records_are_read_in_any_order_and_by_threads() {
    let lines: String = (0..20_000).map(|n| format!("user{n}@d{}.test,{n}\n", n % 7)).collect();
    let list = Written::new(format!("email,n\n{lines}")).open();
    std::thread::scope(|scope| {
        for thread in 0..3_u32 {
            let mut reader = list.reader();
            scope.spawn(move || {
                for step in 0..5_000_u32 {
                    let number = (step * (7_919 * thread + 1)) % 20_000;
                    let recipient = reader.record(number).unwrap();
                    assert_eq!(&recipient.values[1], number.to_string());
                    assert_eq!(recipient.line, u64::from(number) + 2);
                }
            });
        }
    });
}

fn written_field(field: &str) -> String {
    if field.contains(['"', ',', '\n', '\r']) || field.is_empty() {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_owned()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_record_is_there_as_written(
        rows in proptest::collection::vec(("[ab]{1,2}", "[c-d]", "[ a-z\",\n\rü]{0,9}", "\n{0,2}"), 1..30),
        crlf in any::<bool>(),
    ) {
        let end = if crlf { "\r\n" } else { "\n" };
        let mut text = format!("note,email{end}");
        let mut expected = Vec::new();
        for (local, domain, note, gap) in &rows {
            text.push_str(&gap.replace('\n', end));
            let line = 1 + text.matches('\n').count() as u64;
            expected.push((line, format!("{local}@{domain}.test"), note.clone()));
            text.push_str(&format!("{},{local}@{domain}.test{end}", written_field(note)));
        }
        let list = Written::new(&text).open();
        prop_assert_eq!(list.len(), rows.len());
        let mut reader = list.reader();
        for (number, (line, address, note)) in expected.iter().enumerate().rev() {
            let recipient = reader.record(number as u32).unwrap();
            prop_assert_eq!(recipient.line, *line);
            prop_assert_eq!(recipient.address.to_string(), &**address);
            prop_assert_eq!(&recipient.values[0], &**note);
        }
        let mut first = BTreeMap::new();
        for (number, (_, address, _)) in expected.iter().enumerate() {
            first.entry(address.clone()).or_insert(number as u32);
        }
        let mut members: Vec<u32> =
            (0..list.domains()).flat_map(|d| list.members(d).to_vec()).collect();
        prop_assert!((0..list.domains()).all(|d| list.members(d).is_sorted() && !list.members(d).is_empty()));
        members.sort_unstable();
        let mut kept: Vec<u32> = first.into_values().collect();
        kept.sort_unstable();
        prop_assert_eq!(members, kept);
        prop_assert_eq!(list.duplicates(), rows.len() - list.deliverable());
    }

    #[test]
    fn whatever_a_file_holds_its_records_can_be_read(
        contents in "(\u{feff})?(email(,n)?\r?\n)?([\"a@,.\u{feff}\r\n ü-]{0,40}(a@b)?,?\n?){0,6}"
    ) {
        let written = Written::new(&contents);
        if let Ok(list) = List::open(&written.path(), None) {
            let mut reader = list.reader();
            for number in 0..list.len() as u32 {
                let read = reader.fields(number).map(|(line, _)| line);
                prop_assert!(read.is_ok(), "{:?}", read);
                let is_bad = list.bad_numbers().contains(&number);
                prop_assert_eq!(reader.record(number).is_err(), is_bad);
            }
            prop_assert_eq!(list.bad().count() + list.duplicates() + list.deliverable(), list.len());
        }
    }
}
