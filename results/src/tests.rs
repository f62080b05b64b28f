//! The record of the project is fresh, and what is wrong in a record is found and named.

use std::path::Path;

use super::{render, stale};

/// A small project: one table on one page, no plots.
fn project(page: &str, line: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("RESULTS.md", "| mean rank | 1.1914 | [here](results/page.md#ranks) |\n");
    write("results/page.md", page);
    write("results/data/ranks.jsonl", line);
    write("results/plots.json", "[]");
    write(
        "results/tables.json",
        r#"[{"name": "ranks", "columns": [
            {"title": "model", "key": "row.model"},
            {"title": "mean rank", "key": "figures.rank", "format": {"digits": 4}}]}]"#,
    );
    folder
}

const LINE: &str = concat!(
    r#"{"table": "ranks", "row": {"model": "ball"}, "commit": null, "date": null, "machine": null, "#,
    r#""command": null, "seed": 42, "figures": {"rank": 1.1914}}"#
);
const FRESH: &str =
    "# Ranks\n<!-- table ranks -->\n\n| model | mean rank |\n|---|---:|\n| ball | 1.1914 |\n\n<!-- end -->\n";

/// What is wrong with a project, as it is printed, with paths relative to it.
fn problems(project: &Path) -> String {
    let text = match stale(project) {
        Ok(problems) => problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
        Err(problem) => problem.to_string(),
    };
    text.replace(&format!("{}/", project.display()), "")
}

#[test]
fn the_record_is_fresh() {
    assert_eq!(problems(&Path::new(env!("CARGO_MANIFEST_DIR")).join("..")), "");
}

#[test]
fn a_stale_table_is_named_and_rendered() {
    let folder = project(&FRESH.replace("1.1914", "1.1915"), LINE);
    let expected = "results/page.md:2: table ranks is stale: cargo run -p cotangent-results";
    assert!(problems(folder.path()).starts_with(expected), "{}", problems(folder.path()));
    assert!(render(folder.path()).unwrap().is_empty());
    assert_eq!(std::fs::read_to_string(folder.path().join("results/page.md")).unwrap(), FRESH);
    assert_eq!(problems(folder.path()), "");
}

#[test]
fn a_course_is_drawn_through_all_lines_of_a_table() {
    let folder = project(FRESH, LINE);
    let plot = r#"[{"name": "course", "title": "Course", "axis": "MAP", "range": [0.6, 1],
        "series": [{"label": "ball", "table": "ranks"}],
        "content": {"courses":
            {"across": "minutes", "x": "figures.minutes", "y": "figures.map", "marks": [5, 0.2]}}}]"#;
    std::fs::create_dir(folder.path().join("results/plots")).unwrap();
    std::fs::write(folder.path().join("results/plots.json"), plot).unwrap();
    let text = problems(folder.path());
    assert!(text.contains("plot course: no number figures.minutes"), "{text}");
    let point = |minutes: u32, map: f64| {
        LINE.replace(r#""rank""#, &format!(r#""minutes": {minutes}, "map": {map}, "rank""#)) + "\n"
    };
    std::fs::write(folder.path().join("results/data/ranks.jsonl"), point(5, 0.6) + &point(10, 1.0)).unwrap();
    render(folder.path()).unwrap();
    let drawn = std::fs::read_to_string(folder.path().join("results/plots/course.svg")).unwrap();
    assert_eq!(drawn.matches("<circle").count(), 2);
    for mark in ["0.6", "0.8", "1.0", "0", "5", "10", "minutes"] {
        assert!(drawn.lines().any(|line| line == mark), "{mark}: {drawn}");
    }
    // Each point is above the mark of its minutes, and at the height of the mark of its MAP.
    let lines: Vec<&str> = drawn.lines().collect();
    let number = |line: &str, key: &str| -> i32 {
        let (_, value) = line.split_once(&format!(" {key}=\"")).unwrap();
        value.split_once('"').unwrap().0.parse().unwrap()
    };
    let points: Vec<&str> = lines.iter().copied().filter(|line| line.contains("<circle")).collect();
    for (point, [minutes, map]) in points.into_iter().zip([["5", "0.6"], ["10", "1.0"]]) {
        let mark = |text: &str| lines[lines.iter().position(|&line| line == text).unwrap() - 1];
        assert_eq!(number(point, "cx"), number(mark(minutes), "x"));
        assert_eq!(number(point, "cy"), number(mark(map), "y"));
    }
}

#[test]
fn the_places_of_a_line_are_means_over_seeds() {
    let folder = project(FRESH, LINE);
    let plot = r#"[{"name": "dims", "title": "Dims", "axis": "BLEU", "range": [0, 40],
        "series": [{"label": "dot", "table": "none", "where": {"row.score": "dot"}}],
        "content": {"lines": {"across": "dimensions", "marks": 20, "points": [
            {"x": 1, "label": "two", "key": "figures.rank", "table": "ranks", "where": {"row.dim": 2}},
            {"x": 2, "label": "four", "key": "figures.rank", "table": "ranks", "where": {"row.dim": 4}},
            {"x": 3, "label": "more", "key": "figures.rank", "table": "ranks",
                "where": {"row.dim": 8}}]}}}]"#;
    std::fs::create_dir(folder.path().join("results/plots")).unwrap();
    std::fs::write(folder.path().join("results/plots.json"), plot).unwrap();
    let line = |dim: u32, rank: u32| {
        let row = format!(r#""row": {{"score": "dot", "dim": {dim}, "#);
        LINE.replace(r#""row": {"#, &row).replace("1.1914", &rank.to_string()) + "\n"
    };
    let data = folder.path().join("results/data/ranks.jsonl");
    let other_seed = line(8, 15).replace(r#""seed": 42"#, r#""seed": 43"#);
    let [two, four, more] = [line(2, 10), line(4, 40), line(8, 25) + &other_seed];
    std::fs::write(&data, format!("{two}{more}")).unwrap();
    let text = problems(folder.path());
    assert!(text.contains("series dot, four: not one line"), "{text}");
    std::fs::write(&data, format!("{two}{two}{four}{more}")).unwrap();
    let text = problems(folder.path());
    assert!(text.contains("series dot, two: not one line"), "{text}");
    std::fs::write(&data, format!("{two}{four}{more}")).unwrap();
    render(folder.path()).unwrap();
    let drawn = std::fs::read_to_string(folder.path().join("results/plots/dims.svg")).unwrap();
    let heights: Vec<i32> = drawn
        .split(" cy=\"")
        .skip(1)
        .map(|after| after.split_once('"').unwrap().0.parse().unwrap())
        .collect();
    let [two, four, more] = heights[..] else { panic!("{heights:?}") };
    assert_eq!(two - more, (two - four) / 3, "10, 40 and the mean of 25 and 15 are drawn in proportion");
}

#[test]
fn lines_that_share_a_row_fill_its_columns() {
    let line = |dim: u32, rank: &str| {
        let row = format!(r#""row": {{"dim": {dim}, "#);
        LINE.replace(r#""row": {"#, &row).replace("1.1914", rank) + "\n"
    };
    let folder = project(FRESH, &(line(2, "1.25") + &line(4, "1.5")));
    let layout = r#"[{"name": "ranks", "by": ["row.model"], "columns": [
        {"title": "model", "key": "row.model"},
        {"title": "d = 2", "key": "figures.rank", "where": {"row.dim": 2}},
        {"title": "d = 4", "key": "figures.rank", "where": {"row.dim": 4}}]}]"#;
    std::fs::write(folder.path().join("results/tables.json"), layout).unwrap();
    render(folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("results/page.md")).unwrap();
    let table = "| model | d = 2 | d = 4 |\n|---|---:|---:|\n| ball | 1.25 | 1.5 |\n\n<!-- end -->";
    assert!(page.contains(table), "{page}");
    let data = folder.path().join("results/data/ranks.jsonl");
    for (lines, expected) in [
        (line(2, "1.25") + &line(8, "1.5"), "results/data/ranks.jsonl:2: no column shows this line"),
        (line(2, "1.25") + &line(2, "1.5"), "column d = 2: a row shows both 1.25 and 1.5"),
    ] {
        std::fs::write(&data, lines).unwrap();
        let text = problems(folder.path());
        assert!(text.contains(expected), "{text}");
    }
    std::fs::write(&data, line(4, "1.5") + &line(2, "1.1914").replace("ball", "sphere")).unwrap();
    render(folder.path()).unwrap();
    let page = std::fs::read_to_string(folder.path().join("results/page.md")).unwrap();
    assert!(page.contains("| ball | – | 1.5 |\n| sphere | 1.1914 | – |\n"), "{page}");
}

#[test]
fn a_malformed_line_is_named() {
    let cases = [
        (LINE.replace(r#""seed": 42, "#, ""), "missing field `seed`"),
        (LINE.replace("1.1914", "oops"), "expected value"),
        (LINE.replace("1.1914", "\"1.1914\""), "figure `rank` is no number"),
        (LINE.replace("\"ranks\"", "\"other\""), "no table shows this line of `other`"),
    ];
    for (line, expected) in cases {
        let folder = project(FRESH, &format!("{LINE}\n{line}\n"));
        let problem = problems(folder.path());
        assert!(problem.starts_with("results/data/ranks.jsonl:2: "), "{problem}");
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn markers_that_do_not_match_are_named() {
    for (page, expected) in [
        ("<!-- table ranks -->\n", "results/page.md:1: table ranks has no end"),
        ("<!-- end -->\n", "results/page.md:1: the end of a table that has no beginning"),
        ("<!-- table no -->\n<!-- end -->\n", "results/page.md:1: table no is not in tables.json"),
        ("text\n", "results: table ranks is on no page"),
    ] {
        assert_eq!(problems(project(page, LINE).path()), expected);
    }
}

#[test]
fn a_machine_that_is_not_described_is_named() {
    let folder = project(FRESH, &LINE.replace(r#""machine": null"#, r#""machine": "mill""#));
    assert_eq!(
        problems(folder.path()),
        "results/data/ranks.jsonl:1: machine mill is not described in RESULTS.md"
    );
}

#[test]
fn claims_that_their_page_does_not_bear_out_are_named() {
    let folder = project(FRESH, LINE);
    let claim =
        "| mean rank | 1.1234 | [here](results/page.md#ranks) |\n| | | [here](results/page.md#none) |\n";
    std::fs::write(folder.path().join("RESULTS.md"), claim).unwrap();
    let expected = "RESULTS.md:1: 1.1234 is not on results/page.md\n\
                    RESULTS.md:2: link to results/page.md#none: there is no such section";
    assert_eq!(problems(folder.path()), expected);
}

#[test]
fn links_that_lead_nowhere_are_named() {
    let folder = project(FRESH, LINE);
    let page = "[page](results/page.md#ranks) [none](none.md)\n```\n[code](code.md)\n```\n[here](#there)\n";
    std::fs::write(folder.path().join("README.md"), page).unwrap();
    assert_eq!(
        problems(folder.path()),
        "README.md:1: link to none.md: there is no such file\n\
         README.md:5: link to #there: there is no such section"
    );
}
