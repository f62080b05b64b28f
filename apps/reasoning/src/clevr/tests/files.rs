use std::io::Write;
use std::path::Path;

use super::scene;
use crate::clevr::dataset::Dataset;
use crate::clevr::questions::Generator;
use crate::clevr::{Answer, QuestionKind, questions_file, scenes_file};

/// A scene of two objects in the published form.
const SCENES: &str = r#"{"info": {"split": "val", "version": "1.0"}, "scenes": [{
    "split": "val", "image_index": 12, "image_filename": "CLEVR_val_000012.png",
    "objects": [
        {"color": "gray", "size": "large", "shape": "cube", "material": "metal", "rotation": 269.8,
            "3d_coords": [-0.6, 2.1, 0.699999988079071], "pixel_coords": [126, 95, 11.5]},
        {"color": "red", "size": "small", "shape": "sphere", "material": "rubber", "rotation": 12.5,
            "3d_coords": [1.5, -1.25, 0.3499999940395355], "pixel_coords": [200, 120, 9.25]}],
    "relationships": {"left": [[], [0]], "right": [[1], []], "behind": [[], [0]], "front": [[1], []]},
    "directions": {"left": [-0.65625, -0.75439453125, 0.0], "above": [0.0, 0.0, 1.0]}}]}"#;

/// Two questions about it, in the published form and in that of the generator.
const QUESTIONS: &str = r#"{"info": {}, "questions": [
    {"image_index": 12, "image_filename": "CLEVR_val_000012.png", "question": "Is there a cube?",
        "answer": "yes", "question_family_index": 85, "question_index": 0, "split": "val",
        "program": [{"function": "scene", "inputs": [], "value_inputs": []},
            {"function": "filter_shape", "inputs": [0], "value_inputs": ["cube"]},
            {"function": "exist", "inputs": [1], "value_inputs": []}]},
    {"image_index": 12, "image_filename": "CLEVR_val_000012.png", "question": "How many are left?",
        "answer": 1, "question_family_index": 0,
        "program": [{"type": "scene", "inputs": []},
            {"type": "filter_shape", "inputs": [0], "side_inputs": ["sphere"]},
            {"type": "unique", "inputs": [1]},
            {"type": "relate", "inputs": [2], "side_inputs": ["left"]},
            {"type": "count", "inputs": [3]}]}]}"#;

/// Reads both files.
fn read(scenes: &str, questions: &str) -> Result<Dataset, String> {
    let dir = tempfile::tempdir().unwrap();
    let [scenes, questions] = [("scenes.json", scenes), ("questions.json", questions)].map(|(name, text)| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    });
    let error = |error: String| error.replace(&format!("{}/", dir.path().display()), "");
    Dataset::read(&scenes, &questions).map_err(|e| error(e.to_string()))
}

#[test]
fn the_published_forms_are_read() {
    let data = read(SCENES, QUESTIONS).unwrap();
    let scene = &data.scenes[0];
    assert_eq!((scene.index, scene.split.as_str()), (12, "val"));
    assert_eq!(scene.objects[0].position, [-0.6, 2.1, 0.7]);
    assert_eq!(scene.objects[1].pixels, Some([200.0, 120.0, 9.25]));
    assert_eq!(scene.directions[0], ("above".to_owned(), [0.0, 0.0, 1.0]));
    let [first, second] = &data.questions[..] else { panic!("two questions") };
    assert_eq!((first.answer, first.kind()), (Answer::find("yes"), Some(QuestionKind::Exist)));
    assert_eq!(
        (second.answer, second.kind(), second.family),
        (Answer::find("1"), Some(QuestionKind::Count), Some(0))
    );
    let answer = QUESTIONS.replace("\"yes\"", "true");
    assert_eq!(read(SCENES, &answer).unwrap(), data);
}

#[test]
fn questions_to_test_with_have_no_answers() {
    let text = r#"{"questions": [{"image_index": 12, "question": "Is there a cube?", "split": "test"}]}"#;
    let data = read(SCENES, text).unwrap();
    let question = &data.questions[0];
    assert_eq!(
        (question.answer, &question.program, question.kind(), question.family),
        (None, &None, None, None)
    );
}

#[test]
fn files_are_read_as_they_were_written() {
    let dir = tempfile::tempdir().unwrap();
    let [scenes, questions] = ["scenes.json", "questions.json"].map(|name| dir.path().join(name));
    let mut data = Generator::new(5, "train").block(1, 6);
    data.append(read(SCENES, QUESTIONS).unwrap());
    assert_eq!(data.questions.last().unwrap().scene, 6);
    data.questions.last_mut().unwrap().answer = None;
    data.write(&scenes, &questions).unwrap();
    assert_eq!(Dataset::read(&scenes, &questions).unwrap(), data);
    let packed = dir.path().join("scenes.json.gz");
    let file = std::fs::File::create(&packed).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    encoder.write_all(&std::fs::read(&scenes).unwrap()).unwrap();
    encoder.finish().unwrap();
    assert_eq!(scenes_file::read(&packed).unwrap(), data.scenes);
    let text = std::fs::read_to_string(&questions).unwrap();
    assert!(text.starts_with("{\"info\":{\"split\":\"train\"},\"questions\":[{\"question_index\":0,"));
    assert!(text.contains("{\"function\":\"scene\",\"inputs\":[],\"value_inputs\":[]}"));
}

#[test]
fn wrong_scenes_are_named() {
    let fails = |from: &str, to: &str, message: &str| {
        assert!(SCENES.contains(from), "{from}");
        let error = read(&SCENES.replacen(from, to, 1), QUESTIONS).unwrap_err();
        assert_eq!(error, format!("scenes.json{message}"));
    };
    fails(SCENES, "", ": an empty file");
    fails(SCENES, "{\"scenes\": []}", ": no scenes");
    fails(SCENES, "{\"scenes\":\n [}", ":2: column 3: expected value");
    fails("\"image_index\": 12,", "", ":9: column 86: missing field `image_index`");
    fails("\"gray\"", "\"pink\"", ": scene 12: object 0: an unknown color \"pink\"");
    fails("\"sphere\"", "\"cone\"", ": scene 12: object 1: an unknown shape \"cone\"");
    fails("\"small\"", "\"red\"", ": scene 12: object 1: an unknown size \"red\"");
    fails("\"rubber\"", "\"\"", ": scene 12: object 1: an unknown material \"\"");
    fails("269.8", "1e300", ":4: column 98: number out of range");
    fails("[1.5,", "[1e300,", ":7: column 31: number out of range");
    fails("[-0.65625", "[1e300", ":9: column 33: number out of range");
    fails("\"left\": [[]", "\"up\": [[]", ": scene 12: an unknown relation \"up\"");
    fails("\"left\": [[], [0]], ", "", ": scene 12: the relation \"left\" is missing");
    fails(
        "\"left\": [[], [0]]",
        "\"left\": [[]]",
        ": scene 12: the relation \"left\" has 1 lists for 2 objects",
    );
    let absent = ": scene 12: object 0: the relation \"right\" to object 2, and there are 2 objects";
    fails("\"right\": [[1]", "\"right\": [[2]", absent);
    let whole = &SCENES[SCENES.find("[{").unwrap() + 1..SCENES.len() - 2];
    fails(whole, &format!("{whole}, {whole}"), ": scene 12: a second scene of this image_index");
    let objects =
        &SCENES[SCENES.find("{\"color\"").unwrap()..SCENES.find("],\n    \"relationships").unwrap()];
    fails(objects, "", ": scene 12: 0 objects; 1 to 10 are needed");
    let many = [objects; 6].join(", ");
    fails(objects, &many, ": scene 12: 12 objects; 1 to 10 are needed");
}

#[test]
fn wrong_questions_are_named() {
    let fails = |from: &str, to: &str, message: &str| {
        assert!(QUESTIONS.contains(from), "{from}");
        let error = read(SCENES, &QUESTIONS.replace(from, to)).unwrap_err();
        assert_eq!(error, format!("questions.json{message}"));
    };
    fails(QUESTIONS, "\n", ": an empty file");
    fails(QUESTIONS, "{\"questions\": []}", ": no questions");
    fails(
        QUESTIONS,
        "{\"questions\": [{\"question\": 3}]}",
        ":1: column 29: invalid type: integer `3`, expected a string",
    );
    fails("\"image_index\": 12", "\"image_index\": 13", ": question 0: there is no scene 13");
    fails("Is there a cube?", " ", ": question 0: an empty text");
    fails("\"yes\"", "\"maybe\"", ": question 0: the answer \"maybe\" is none of the 28");
    fails("\"answer\": 1", "\"answer\": 1.5", ": question 1: the answer 1.5 is none of the 28");
    fails("\"yes\"", "\"no\"", ": question 0: its answer is no; its program finds yes on scene 12");
    fails("\"answer\": 1", "\"answer\": 2", ": question 1: its answer is 2; its program finds 1 on scene 12");
    fails(
        "\"sphere\"",
        "\"cylinder\"",
        ": question 1: its program on scene 12: node 2 (unique): 0 objects; exactly one is needed",
    );
    fails("\"exist\"", "\"exists\"", ": question 0: its program: node 2 (exists): an unknown function");
    fails(
        "\"inputs\": [3]",
        "\"inputs\": [4]",
        ": question 1: its program: node 4 (count): its input is node 4, which is not before it: a cycle",
    );
    let missing = scenes_file::read(Path::new("missing.json")).unwrap_err().to_string();
    assert!(missing.starts_with("missing.json: "), "{missing}");
    assert!(questions_file::read(Path::new("missing.json"), &[scene()]).is_err());
}
