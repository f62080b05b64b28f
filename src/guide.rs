#![doc = page!("guide/README.md")]

#[doc = page!("guide/notation.md")]
pub mod notation {}

#[doc = page!("guide/poincare.md")]
pub mod poincare {}

#[doc = page!("guide/manifolds.md")]
pub mod manifolds {}

#[doc = page!("guide/first-model.md")]
pub mod first_model {}

#[doc = page!("guide/training.md")]
pub mod training {}

#[doc = page!("guide/numerics.md")]
pub mod numerics {}

#[doc = page!("guide/coming-from-pytorch-and-geoopt.md")]
pub mod coming_from_pytorch_and_geoopt {}

#[doc = page!("guide/coming-from-gensim.md")]
pub mod coming_from_gensim {}

#[doc = page!("guide/own-formulas.md")]
pub mod own_formulas {}

#[doc = page!("guide/own-manifolds.md")]
pub mod own_manifolds {}

#[doc = page!("guide/attention.md")]
pub mod attention {}

#[doc = page!("guide/devices.md")]
pub mod devices {}

#[doc = page!("guide/clusters.md")]
pub mod clusters {}

#[doc = page!("guide/performance.md")]
pub mod performance {}

#[doc = page!("guide/an-operation.md")]
pub mod an_operation {}

#[doc = page!("guide/examples.md")]
pub mod examples {}
