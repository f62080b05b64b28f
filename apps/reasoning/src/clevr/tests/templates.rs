use std::collections::BTreeMap;
use std::path::Path;

use crate::clevr::template::{parse, published};

/// A file of one template, which asks for the colour of a thing.
const TEMPLATE: &str = r#"[{
    "params": [{"name": "<S>", "type": "Shape"}, {"name": "<C>", "type": "Color"},
        {"name": "<Z>", "type": "Size"}, {"name": "<M>", "type": "Material"}],
    "nodes": [{"type": "scene", "inputs": []},
        {"type": "filter_unique", "inputs": [0], "side_inputs": ["<Z>", "<C>", "<M>", "<S>"]},
        {"type": "scene", "inputs": []},
        {"type": "query_color", "inputs": [1]}],
    "text": ["What color is the [one] <Z> <C> <M> <S>?"],
    "constraints": [{"type": "NULL", "params": ["<C>"]}, {"type": "OUT_NEQ", "params": [0, 2]}]
}]"#;

#[test]
fn the_published_templates_are_whole() {
    let templates = published();
    assert_eq!(templates.len(), 90);
    assert_eq!(templates.iter().map(|template| template.texts.len()).sum::<usize>(), 425);
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    templates.iter().for_each(|template| *files.entry(&template.file).or_default() += 1);
    assert_eq!(files.into_values().collect::<Vec<_>>(), [9, 16, 6, 28, 5, 8, 6, 6, 6]);
    assert_eq!((templates[9].file.as_str(), templates[9].index), ("comparison.json", 0));
}

#[test]
fn wrong_templates_are_refused() {
    let path = Path::new("own/mine.json");
    let one = parse(path, TEMPLATE.as_bytes()).unwrap();
    assert_eq!((one[0].file.as_str(), one[0].index), ("mine.json", 0));
    let fails = |from: &str, to: &str, message: &str| {
        assert!(TEMPLATE.contains(from));
        let error = parse(path, TEMPLATE.replace(from, to).as_bytes()).unwrap_err().to_string();
        assert_eq!(error, format!("own/mine.json{message}"));
    };
    fails(TEMPLATE, "[]", ": no templates");
    fails(TEMPLATE, " \n", ": an empty file");
    fails(TEMPLATE, "[{", ":1: column 2: EOF while parsing an object");
    let nodes = TEMPLATE.find("{\"type\": \"scene\"").unwrap()..TEMPLATE.find("],\n    \"text").unwrap();
    fails(&TEMPLATE[nodes.clone()], "", ": template 0: 0 nodes; 1 to 42 are needed");
    let many = [r#"{"type": "scene", "inputs": []}"#; 43].join(", ");
    fails(&TEMPLATE[nodes], &many, ": template 0: 43 nodes; 1 to 42 are needed");
    fails("\"Shape\"", "\"Form\"", ": template 0: parameter <S>: no type \"Form\" of parameters");
    fails("\"Shape\"", "\"Object\"", ": template 0: parameter <S>: no type \"Object\" of parameters");
    let named = ": template 0: parameter <S>: a name of its own in angle brackets is needed";
    fails("\"<C>\", \"type\"", "\"<S>\", \"type\"", named);
    fails("filter_unique", "filter_one", ": template 0: node 1 (filter_one): an unknown function");
    fails(
        "\"inputs\": [0]",
        "\"inputs\": [3]",
        ": template 0: node 1 (filter_unique): its input is node 3, which is not before it: a cycle",
    );
    fails(
        "\"<M>\", \"<S>\"]}",
        "\"<M>\"]}",
        ": template 0: node 1 (filter_unique): number of value inputs: 3; it takes 4",
    );
    fails(
        "\"<M>\", \"<S>\"]}",
        "\"<M>\", \"<X>\"]}",
        ": template 0: node 1 (filter_unique): an unknown parameter <X>",
    );
    fails(
        "\"<M>\", \"<S>\"]}",
        "\"<S>\", \"<M>\"]}",
        ": template 0: node 1 (filter_unique): its parameter <S> is of type Shape; it takes Material",
    );
    fails(
        "\"query_color\", \"inputs\": [1]",
        "\"filter_color\", \"inputs\": [0], \"side_inputs\": [\"<C>\"]",
        ": template 0: the last node returns a value of type ObjectSet, which is no answer",
    );
    let unused = ": template 0: parameter <R>: 0 nodes use it; exactly one must";
    fails(
        "\"params\": [{\"name\": \"<S>\"",
        "\"params\": [{\"name\": \"<R>\", \"type\": \"Relation\"}, {\"name\": \"<S>\"",
        unused,
    );
    fails("\"What color is the [one] <Z> <C> <M> <S>?\"", "", ": template 0: no text");
    let text = ": template 0: the text \"What color is the ";
    fails("[one] <Z> <C>", "<Z> <D>", &format!("{text}<Z> <D> <M> <S>?\" has an unknown parameter <D>"));
    fails("[one]", "[one", &format!("{text}[one <Z> <C> <M> <S>?\" has an unmatched bracket"));
    fails("[one]", "one]", &format!("{text}one] <Z> <C> <M> <S>?\" has an unmatched bracket"));
    fails("[one]", "[o[n]e]", &format!("{text}[o[n]e] <Z> <C> <M> <S>?\" has an unmatched bracket"));
    fails(
        "\"NULL\"",
        "\"UNIQUE\"",
        ": template 0: constraint UNIQUE: an unknown constraint; NULL and OUT_NEQ are known",
    );
    fails("[\"<C>\"]", "[\"<D>\"]", ": template 0: constraint NULL: no parameter <D> that may be empty");
    fails("[\"<C>\"]", "[0]", ": template 0: constraint NULL: one parameter is needed");
    let pair = ": template 0: constraint OUT_NEQ: two nodes that return values of one type are needed";
    for params in ["[0, 1]", "[0, 9]", "[0]", "[0, 0]", "[\"<C>\", 1]"] {
        fails("[0, 2]", params, pair);
    }
    fails("\"constraints\"", "\"conditions\"", ":10: column 1: missing field `constraints`");
}
