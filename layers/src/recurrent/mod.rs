//! Recurrent layers.

pub(crate) mod bidirectional;
pub(crate) mod cell;
pub(crate) mod gru;
pub(crate) mod lstm;
pub(crate) mod rnn;
pub(crate) mod sequence;
