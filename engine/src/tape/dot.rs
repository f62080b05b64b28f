//! Drawing a tape's graph.

use crate::tape::Tape;
use crate::tape::float::Float;

impl<T: Float> Tape<T> {
    /// The graph so far, in the language DOT: `dot -Tsvg` of Graphviz draws small ones. A node shows its
    /// operation and its shape. It is dashed if no gradient flows through it.
    ///
    /// ```
    /// use cotangent_engine::{Tape, Tensor};
    /// let tape = Tape::<f64>::new();
    /// let x = tape.variable(&Tensor::new([1, 2], vec![1.0, 2.0]));
    /// let _ = x.tanh() + 1.0;
    /// let dot = "\
    /// digraph tape {
    ///   n0 [label=\"leaf\\n[1, 2]\"];
    ///   n1 [label=\"tanh\\n[1, 2]\"];
    ///   n0 -> n1;
    ///   n2 [label=\"constant\\n[]\", style=dashed];
    ///   n3 [label=\"add\\n[1, 2]\"];
    ///   n1 -> n3;
    ///   n2 -> n3;
    /// }
    /// ";
    /// assert_eq!(tape.to_dot(), dot);
    /// assert_eq!(format!("{tape:?}"), dot);
    /// for _ in 0..100 {
    ///     tape.scalar(0.0);
    /// }
    /// assert_eq!(format!("{tape:?}"), format!("a tape of {} nodes", tape.len()));
    /// ```
    #[inline(never)]
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph tape {\n");
        for (id, node) in self.arena.borrow().nodes.iter().enumerate() {
            let style = if node.needs_gradient { "" } else { ", style=dashed" };
            dot += &format!("  n{id} [label=\"{}\\n{}\"{style}];\n", node.op.name(), node.shape);
            node.inputs.iter().for_each(|input| dot += &format!("  n{input} -> n{id};\n"));
        }
        dot + "}\n"
    }
}
