//! Functions of the user, from source text to verdict, and all possible failures of such functions.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::linux::nobody_is_left;
use crate::common::{
    Bench, Said, finish, needs, of_repository, result, run as finished, short, skip_unless, times,
};
use serde_json::Value;

/// Builds a library from this source file and returns its path.
#[track_caller]
fn built(bench: &Bench, source: &Path) -> PathBuf {
    let stem = source.file_stem().and_then(|stem| stem.to_str()).expect("a plain name");
    let library = bench.path(&format!("{stem}.so"));
    let mut command = match source.extension().and_then(|end| end.to_str()) {
        Some("rs") => {
            let mut rustc = Command::new("rustc");
            rustc.args(["--edition", "2024", "-O", "--crate-type", "cdylib"]);
            rustc
        }
        end => {
            let compiler = if end == Some("c") { "cc" } else { "c++" };
            let mut compiler = Command::new(compiler);
            let strict = ["-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", "-I"];
            compiler.args(strict).arg(of_repository("include"));
            compiler
        }
    };
    finished(command.arg("-o").arg(&library).arg(source)).with(0);
    library
}

/// A library in C with this name and operation, and the code `before` it.
fn in_c(bench: &Bench, file: &str, name: &str, before: &str, operation: &str) -> PathBuf {
    let source = format!(
        "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include \"oscost.h\"\nOSCOST_NAME(\"{name}\")\n\
         {before}\nint oscost_operation(uint64_t n) {{ (void)n; {operation} }}\n"
    );
    built(bench, &bench.write(&format!("{file}.c"), &source))
}

/// An operation that takes some time.
const SPIN: &str = "for (volatile uint64_t i = 0; i < n; i++); return 0;";

/// The shortest possible run of these libraries, and what is more.
fn run(bench: &Bench, libraries: &[PathBuf], more: &str) -> Said {
    let mut command = bench.command(&short(more));
    for library in libraries {
        command.arg("--op").arg(library);
    }
    finish(&mut command)
}

#[track_caller]
fn named<'a>(document: &'a Value, name: &str) -> &'a Value {
    result(document, "time", &[("name", name)])
}

#[test]
fn the_examples_are_measured() {
    skip_unless!(needs::compilers(&["cc", "c++", "rustc"]));
    let bench = Bench::new();
    let examples = ["getppid.c", "lookup.cpp", "format.rs"];
    let libraries = examples.map(|name| built(&bench, &of_repository("examples/op").join(name)));
    let said = run(&bench, &libraries, "").with(0);
    let document = said.json();
    assert_eq!(times(&document).len(), 3, "nothing else is measured: {document}");
    for (name, calls) in
        [("getppid in C", 1.0), ("unordered_map lookup", 0.0), ("format a u64", 0.0)]
    {
        let result = named(&document, name);
        assert_eq!(result["case"], "op/function", "{result}");
        assert_eq!(result["outcome"], "measured", "{result}");
        assert!(result["estimate"]["median"].as_f64() > Some(0.0), "{result}");
        assert_eq!(result["per_op"]["syscalls"], calls, "{result}");
    }
    // The case is stored, and shown like any other.
    bench.oscost("show").with(0).says(&["getppid in C"]);
    bench.oscost(&format!("compare {} last", said.saved())).with(0);
}

#[test]
fn two_builds_of_a_function_are_compared() {
    skip_unless!(needs::compilers(&["cc"]));
    let bench = Bench::new();
    let library = |turns: u32| {
        let spin = format!(
            "for (uint64_t i = 0; i < n; i++) for (volatile int turn = 0; turn < {turns}; turn++); return 0;"
        );
        in_c(&bench, "spin", "spin", "", &spin)
    };
    let first = run(&bench, &[library(100)], "").with(0).saved();
    let beside = run(&bench, &[library(300)], "clock/std-instant").with(0);
    assert_eq!(times(&beside.json()).len(), 2, "filters and --op go together");
    let rows = bench.compared(&format!("{first} last"));
    let row = rows.iter().find(|row| row["case"] == "op/function{name=spin}").expect("its row");
    // On a machine that is never quiet there is no verdict.
    assert!(["slower", "cannot tell"].iter().any(|verdict| row["verdict"] == *verdict), "{row}");
    assert!(row["ratio"]["mid"].as_f64() > Some(1.5), "{row}");
    let same = [library(100)];
    let other = bench.path("other.so");
    std::fs::copy(&same[0], &other).expect("a copy");
    let both = run(&bench, &[same[0].clone(), other], "").with(0).json();
    for file in ["spin.so", "other.so"] {
        let of_file = named(&both, &format!("spin of {file}"));
        assert_eq!(of_file["outcome"], "measured", "{of_file}");
    }
    let twice = run(&bench, &[same[0].clone(), same[0].clone()], "").with(2);
    twice.complains(&["is given twice"]);
}

#[test]
fn a_fault_costs_only_its_own_rounds_and_is_named() {
    skip_unless!(needs::compilers(&["cc", "c++"]));
    let bench = Bench::new();
    let c = |name: &str, before: &str, operation: &str| in_c(&bench, name, name, before, operation);
    let cpp = |name: &str, source: &str| {
        let source = format!("#include <stdexcept>\n{source}");
        built(&bench, &bench.write(&format!("{name}.cpp"), &source))
    };
    let hungry = "static char *keep[4096]; static int kept;\n";
    let eats = |then: &str| {
        format!(
            "for (;;) {{ char *more = malloc(16 << 20); {then} memset(more, 1, 16 << 20); \
             if (kept < 4096) keep[kept++] = more; }}"
        )
    };
    let aborts = "__attribute__((constructor)) static void fault(void) { abort(); }\n";
    let libraries = [
        c("good", "", &format!("printf(\"printed\"); {SPIN}")),
        c("crash", "", "*(volatile int *)0 = 1; return 0;"),
        c("late crash", "static uint64_t sum;\n", "if ((sum += n) > 10000) abort(); return 0;"),
        c("refuses", "", "return 28;"),
        c("lacks", "int oscost_setup(void) { return 38; }\n", "return 0;"),
        c("ends", "", "exit(0);"),
        c("miscounts", "double oscost_expected_syscalls(void) { return 3; }\n", SPIN),
        c("hungry", hungry, &eats("")),
        c("hungry but careful", hungry, &eats("if (!more) return 12;")),
        c("constructed", aborts, "return 0;"),
        cpp(
            "throws",
            "#include \"oscost.h\"\nOSCOST_NAME(\"throws\")\n\
             static void fail() { throw std::runtime_error(\"boom\"); }\n\
             int oscost_operation(uint64_t) noexcept { fail(); return 0; }\n",
        ),
        cpp(
            "escapes",
            "#include <cstdint>\n#define EXPORT extern \"C\" __attribute__((visibility(\"default\")))\n\
             EXPORT uint32_t oscost_version() { return 1; }\n\
             EXPORT const char *oscost_name() { return \"escapes\"; }\n\
             EXPORT int oscost_operation(uint64_t) { throw std::runtime_error(\"boom\"); }\n",
        ),
        built(&bench, &bench.write("newer.c", "unsigned oscost_version(void) { return 7; }\n")),
        built(&bench, &bench.write("foreign.c", "int foreign;\n")),
        bench.write("text.so", "no library\n"),
    ];
    let said = run(&bench, &libraries, "--op-memory 256m").with(3);
    let document = said.json();
    for (name, outcome, words) in [
        ("good", "measured", &[][..]),
        ("crash", "failed", &["crash.so: ", "SIGSEGV"]),
        ("late crash", "failed", &["late crash.so: ", "SIGABRT"]),
        ("refuses", "failed", &["refuses.so: oscost_operation returned 28", "No space left"]),
        ("lacks", "unsupported", &["lacks.so: oscost_setup returned 38"]),
        ("ends", "failed", &["ends.so: ", "exit status: 0"]),
        ("miscounts", "implausible", &["0.00 system calls per operation, where it makes 3"]),
        ("hungry", "failed", &["hungry.so: ", "SIGSEGV", "limit of memory was reached"]),
        (
            "hungry but careful",
            "failed",
            &["hungry but careful.so: ", "returned 12", "allocate memory"],
        ),
        ("constructed.so", "failed", &["constructed.so: ", "SIGABRT"]),
        ("throws", "failed", &["throws.so: ", "SIGABRT", "boom"]),
        ("escapes", "failed", &["escapes.so: ", "SIGABRT"]),
        ("newer.so", "failed", &["newer.so: ", "version 7", "version 1"]),
        ("foreign.so", "failed", &["foreign.so: ", "no function oscost_version"]),
        ("text.so", "failed", &["text.so: "]),
    ] {
        let result = named(&document, name);
        assert_eq!(result["outcome"], outcome, "{result}");
        let reason = result["reason"].as_str().unwrap_or_default();
        assert!(words.iter().all(|word| reason.contains(word)), "{name}: {reason}");
    }
    assert_eq!(times(&document).len(), libraries.len());
}

#[test]
fn an_endless_operation_is_ended_with_all_it_started() {
    skip_unless!(needs::compilers(&["cc"]));
    let bench = Bench::new();
    let c = |name: &str, before: &str, operation: &str| in_c(&bench, name, name, before, operation);
    let pauses = "if (fork() == 0) pause(); for (;;) pause();";
    let endless = c("endless", "#include <unistd.h>\n", pauses);
    let good = c("good", "", SPIN);
    let document = run(&bench, &[endless, good], "").with(3).json();
    let endless = named(&document, "endless");
    assert_eq!(endless["outcome"], "timed-out", "{endless}");
    let reason = endless["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("endless.so: ") && reason.contains("did not end within"), "{reason}");
    assert_eq!(named(&document, "good")["outcome"], "measured", "{document}");
    nobody_is_left(&bench);
}

#[test]
fn what_is_asked_wrongly() {
    let bench = Bench::new();
    bench.refuses(&[
        ("run --op nosuch.so", &["--op nosuch.so", "No such file"]),
        ("run --op tmp", &["--op tmp", "directory"]),
        ("run op/function", &["op/function is measured by `oscost run --op FILE`"]),
        ("run --op x.so --op-memory 5", &["'5'", "at least 1m"]),
        ("run --resume --op x.so", &["--resume", "--op"]),
    ]);
    bench.oscost("list op").with(0).says(&["oscost_operation"]);
}
