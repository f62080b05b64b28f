//! The file of scenes, as published: `CLEVR_train_scenes.json`.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::Path;

use cotangent::engine::files::atomic;
use cotangent_apps_common::error::{AppError, Result};
use cotangent_apps_common::{json, table};
use serde::{Deserialize, Serialize, Serializer};

use super::attribute::{Attribute, AttributeValue};
use super::scene::{MAX_OBJECTS, Object, ObjectSet, Relation, Scene};

#[derive(Deserialize)]
struct File {
    scenes: Vec<FileScene>,
}

#[derive(Serialize, Deserialize)]
struct FileScene {
    image_index: u64,
    image_filename: String,
    #[serde(default)]
    split: String,
    objects: Vec<FileObject>,
    relationships: BTreeMap<String, Vec<Vec<usize>>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    directions: BTreeMap<String, [f32; 3]>,
}

#[derive(Serialize, Deserialize)]
struct FileObject {
    color: String,
    shape: String,
    size: String,
    material: String,
    #[serde(rename = "3d_coords")]
    position: [f32; 3],
    rotation: f32,
    #[serde(rename = "pixel_coords", default, skip_serializing_if = "Option::is_none")]
    pixels: Option<[f32; 3]>,
}

/// Reads a file of scenes, plain or gzip.
///
/// # Errors
/// If the file cannot be read, is not JSON in the published format, or has no scenes; the error names the
/// line, of a number that `f32` cannot hold too. If two scenes have one number, a scene has no or more than
/// [`MAX_OBJECTS`] objects, an attribute has an unknown value, or a relation is missing, unknown, or not one
/// of as many lists as there are objects, of numbers of objects. The error names the scene by its
/// `image_index`, and the object, from 0.
pub fn read(path: &Path) -> Result<Vec<Scene>> {
    let content = table::content(path)?;
    let file: File = json::parse(path, &content)?;
    if file.scenes.is_empty() {
        return Err(AppError::content(path, "no scenes"));
    }
    let mut seen = HashSet::new();
    let scene = |scene: FileScene| {
        let index = scene.image_index;
        let wrong = |cause: String| AppError::content(path, format!("scene {index}: {cause}"));
        if !seen.insert(index) {
            return Err(wrong("a second scene of this image_index".to_owned()));
        }
        scene.check().map_err(wrong)
    };
    file.scenes.into_iter().map(scene).collect()
}

/// Writes a file of scenes.
///
/// # Errors
/// If it cannot be written.
pub fn write(path: &Path, scenes: &[Scene]) -> Result<()> {
    #[derive(Serialize)]
    struct Content<'a> {
        info: Info<'a>,
        #[serde(serialize_with = "each")]
        scenes: &'a [Scene],
    }
    fn each<S: Serializer>(scenes: &[Scene], to: S) -> std::result::Result<S::Ok, S::Error> {
        to.collect_seq(scenes.iter().map(FileScene::from))
    }
    let content = Content { info: Info::new(scenes), scenes };
    let write = |writer: &mut dyn io::Write| Ok(serde_json::to_writer(writer, &content)?);
    atomic::write(path, write).map_err(AppError::io(path))
}

/// What is known of a file as a whole.
#[derive(Serialize)]
pub(super) struct Info<'a> {
    /// The part of the data.
    split: &'a str,
}

impl<'a> Info<'a> {
    /// The information of scenes, or of the questions about them.
    pub(super) fn new(scenes: &'a [Scene]) -> Self {
        Info { split: scenes.first().map_or("", |scene| &scene.split) }
    }
}

type Checked<V> = std::result::Result<V, String>;

impl FileScene {
    fn check(self) -> Checked<Scene> {
        let count = self.objects.len();
        if count == 0 || count > MAX_OBJECTS {
            return Err(format!("{count} objects; 1 to {MAX_OBJECTS} are needed"));
        }
        let object = |(number, object): (usize, &FileObject)| {
            object.check().map_err(|cause| format!("object {number}: {cause}"))
        };
        let objects = self.objects.iter().enumerate().map(object).collect::<Checked<_>>()?;
        if let Some(name) = self.relationships.keys().find(|name| Relation::find(name).is_none()) {
            return Err(format!("an unknown relation {name:?}"));
        }
        let [left, right, behind, front] = Relation::ALL.map(|relation| self.relation(relation));
        Ok(Scene {
            relations: [left?, right?, behind?, front?],
            index: self.image_index,
            filename: self.image_filename,
            split: self.split,
            objects,
            directions: self.directions.into_iter().collect(),
        })
    }

    fn relation(&self, relation: Relation) -> Checked<Vec<ObjectSet>> {
        let (name, count) = (relation.name(), self.objects.len());
        let lists =
            self.relationships.get(name).ok_or_else(|| format!("the relation {name:?} is missing"))?;
        if lists.len() != count {
            return Err(format!("the relation {name:?} has {} lists for {count} objects", lists.len()));
        }
        for (object, list) in lists.iter().enumerate() {
            if let Some(other) = list.iter().find(|&&other| other >= count) {
                return Err(format!(
                    "object {object}: the relation {name:?} to object {other}, and there are {count} objects"
                ));
            }
        }
        Ok(lists.iter().map(|list| list.iter().copied().collect()).collect())
    }
}

impl FileObject {
    fn check(&self) -> Checked<Object> {
        let [size, colour, material, shape] = Attribute::ALL.map(|attribute| self.value(attribute));
        let attributes = [size?, colour?, material?, shape?];
        Ok(Object { attributes, position: self.position, rotation: self.rotation, pixels: self.pixels })
    }

    fn value(&self, attribute: Attribute) -> Checked<AttributeValue> {
        let name = [&self.size, &self.color, &self.material, &self.shape][attribute as usize];
        attribute.value(name).ok_or_else(|| format!("an unknown {} {name:?}", attribute.name()))
    }
}

impl From<&Scene> for FileScene {
    fn from(scene: &Scene) -> Self {
        let lists = |relation: Relation| {
            let lists = scene.relations[relation as usize].iter().map(|set| set.iter().collect());
            (relation.name().to_owned(), lists.collect())
        };
        FileScene {
            image_index: scene.index,
            image_filename: scene.filename.clone(),
            split: scene.split.clone(),
            objects: scene.objects.iter().map(FileObject::from).collect(),
            relationships: Relation::ALL.into_iter().map(lists).collect(),
            directions: scene.directions.iter().cloned().collect(),
        }
    }
}

impl From<&Object> for FileObject {
    fn from(object: &Object) -> Self {
        let [size, color, material, shape] = object.attributes.map(|value| value.name().to_owned());
        let Object { position, rotation, pixels, .. } = *object;
        FileObject { color, shape, size, material, position, rotation, pixels }
    }
}
