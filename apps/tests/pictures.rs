//! Checks that all text of a picture is within the picture.

/// The value of an attribute in an element's tag.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = element.split_once(&format!(" {name}=\""))?;
    value.split('"').next()
}

/// The start, the end and the text of each line of text in a picture. The width of a character is taken as
/// half the font size, which is less than in any font.
fn lines(svg: &str) -> Vec<(f64, f64, String)> {
    let mut groups = vec![(12.0, "start".to_owned())];
    let mut lines = Vec::new();
    for element in svg.split('<').skip(1) {
        let (tag, content) = element.split_once('>').unwrap();
        let (size, anchor) = groups.last().unwrap().clone();
        let size =
            attribute(tag, "font-size").map_or(size, |size| size.trim_end_matches("px").parse().unwrap());
        let anchor = attribute(tag, "text-anchor").map_or(anchor, str::to_owned);
        match tag.split_whitespace().next().unwrap() {
            "g" => groups.push((size, anchor)),
            "/g" => drop(groups.pop()),
            "text" => {
                let text = content.trim();
                let width = 0.5 * size * text.chars().count() as f64;
                let x: f64 = attribute(tag, "x").unwrap().parse().unwrap();
                let start = x - width
                    * match anchor.as_str() {
                        "start" => 0.0,
                        "middle" => 0.5,
                        _ => 1.0,
                    };
                lines.push((start, start + width, text.to_owned()));
            }
            _ => {}
        }
    }
    lines
}

/// Checks that the text of a picture is within it, and that it contains these words.
#[track_caller]
pub(crate) fn text_fits(path: &str, contains: &[&str]) {
    let svg = std::fs::read_to_string(path).unwrap();
    let width: f64 = attribute(svg.split_once("<svg").unwrap().1, "width").unwrap().parse().unwrap();
    let lines = lines(&svg);
    for (start, end, text) in &lines {
        assert!(*start >= 0.0 && *end <= width, "{path}: {text:?} from {start} to {end} of {width}");
    }
    let all = lines.into_iter().map(|(_, _, text)| text).collect::<Vec<_>>().join(" ");
    contains.iter().for_each(|text| assert!(all.contains(text), "{path}: {text:?} is not in {all:?}"));
}

/// A name that is too long for any picture.
pub(crate) fn long_name() -> String {
    ["a name that is longer than half of any picture is wide, and then some more of it"; 2].join(", ")
}
