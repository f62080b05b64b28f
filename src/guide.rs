//! The guide: the project in an hour. Each page is a file in `guide/`, and its code blocks are tests.

#[doc = include_str!("../guide/notation.md")]
pub mod notation {}

#[doc = include_str!("../guide/manifolds.md")]
pub mod manifolds {}

#[doc = include_str!("../guide/first-model.md")]
pub mod first_model {}

#[doc = include_str!("../guide/training.md")]
pub mod training {}

#[doc = include_str!("../guide/numerics.md")]
pub mod numerics {}

#[doc = include_str!("../guide/coming-from-pytorch-and-geoopt.md")]
pub mod coming_from_pytorch_and_geoopt {}

#[doc = include_str!("../guide/coming-from-gensim.md")]
pub mod coming_from_gensim {}

#[doc = include_str!("../guide/own-formulas.md")]
pub mod own_formulas {}

#[doc = include_str!("../guide/own-manifolds.md")]
pub mod own_manifolds {}

#[doc = include_str!("../guide/attention.md")]
pub mod attention {}

#[doc = include_str!("../guide/devices.md")]
pub mod devices {}

#[doc = include_str!("../guide/performance.md")]
pub mod performance {}

#[doc = include_str!("../guide/an-operation.md")]
pub mod an_operation {}

#[doc = include_str!("../guide/examples.md")]
pub mod examples {}
