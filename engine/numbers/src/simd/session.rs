//! Programs at work.

use std::marker::PhantomData;

use smallvec::SmallVec;

use super::columns::{self, Column, PIECE};
use crate::program::{Input, Program};
use crate::storage::Storage;

/// Numbers of a block of a column. The blocks of a program's columns together fit the first-level cache.
const BLOCK: usize = 256;

/// The same for programs without intermediate results: their inputs stay in the first-level cache from one
/// operation to the next.
const LARGE_BLOCK: usize = 1024;

/// Bytes of a line of the cache. A register that crosses one is read twice.
const LINE: usize = 64;

/// A program with the memory that it runs in.
#[derive(Debug)]
pub struct Session<'a, T> {
    program: &'a Program<T>,
    /// By the numbers that the program gives them: inputs, outputs, constants, intermediate results.
    columns: SmallVec<[Column<T>; 64]>,
    /// A piece for each input and each output: for a single number, and for what is left after whole pieces.
    ends: &'a mut [[T; PIECE]],
    memory: PhantomData<&'a mut [T]>,
}

impl<'a, T: Storage> Session<'a, T> {
    pub(crate) fn with<R>(program: &Program<T>, work: impl FnOnce(&mut Session<'_, T>) -> R) -> R {
        let ends = program.inputs + program.outputs;
        let pieces = program.constants.len() + ends;
        T::with_scratch(LINE / size_of::<T>() + PIECE * pieces + BLOCK * program.columns, |scratch| {
            let aligned = scratch.as_ptr().align_offset(LINE).min(LINE / size_of::<T>());
            let (pieces, blocks) = scratch[aligned..].split_at_mut(PIECE * pieces);
            let (constants, last) = pieces.as_chunks_mut::<PIECE>().0.split_at_mut(program.constants.len());
            // Those of inputs and outputs are set by each run.
            let mut columns: SmallVec<_> = (0..ends).map(|_| Column::of(&[])).collect();
            columns.extend(constants.iter_mut().zip(&program.constants).map(|(piece, &constant)| {
                piece.fill(constant);
                Column::from_number(piece)
            }));
            let blocks = blocks.as_chunks_mut::<BLOCK>().0.iter_mut().take(program.columns);
            columns.extend(blocks.map(|block| Column::from_mut(block)));
            work(&mut Session { program, columns, ends: last, memory: PhantomData })
        })
    }

    /// Computes the outputs, all of one length, from the inputs.
    ///
    /// # Panics
    /// If there are more or fewer inputs or outputs than the program has, or their lengths differ.
    pub fn run(&mut self, inputs: &[Input<'_, T>], outputs: &mut [&mut [T]]) {
        let Session { program, columns, ends: pieces, .. } = self;
        let ends = [program.inputs, program.outputs];
        assert!([inputs.len(), outputs.len()] == ends, "a program of {ends:?} inputs and outputs");
        let Some(count) = outputs.first().map(|output| output.len()) else { return };
        assert!(outputs.iter().all(|output| output.len() == count), "outputs of one length");
        for (k, input) in inputs.iter().enumerate() {
            match *input {
                Input::Number(number) => {
                    pieces[k].fill(number);
                    columns[k] = Column::from_number(&mut pieces[k]);
                }
                Input::Column(column) => {
                    assert!(column.len() == count, "inputs and outputs of one length");
                }
            }
        }
        let block = match (program.steps.len(), program.columns) {
            (..=1, _) => count.next_multiple_of(PIECE),
            (_, 0) => LARGE_BLOCK,
            _ => BLOCK,
        };
        let whole_pieces = count / PIECE * PIECE;
        let mut start = 0;
        while start < whole_pieces {
            let length = block.min(whole_pieces - start);
            for (k, input) in inputs.iter().enumerate() {
                if let Input::Column(column) = input {
                    columns[k] = Column::of(&column[start..start + length]);
                }
            }
            for (k, output) in outputs.iter_mut().enumerate() {
                columns[program.inputs + k] = Column::from_mut(&mut output[start..start + length]);
            }
            // SAFETY: a program numbers its columns as they stand here, and writes outputs and intermediate
            // results alone. Inputs and outputs have `length` elements, which are whole pieces; intermediate
            // results have a block; constants and single inputs have a piece. The borrows of `outputs` see to
            // it that nothing else is there.
            unsafe { columns::run(&program.steps, columns, length) };
            start += length;
        }
        if start == count {
            return;
        }
        // What is left is less than a piece: it is copied to one, with ones beyond its end.
        let (of_inputs, of_outputs) = pieces.split_at_mut(program.inputs);
        for (k, (input, piece)) in inputs.iter().zip(of_inputs).enumerate() {
            columns[k] = match input {
                Input::Number(_) => Column::from_number(piece),
                Input::Column(column) => {
                    piece.fill(T::one());
                    piece[..count - start].copy_from_slice(&column[start..]);
                    Column::of(piece)
                }
            };
        }
        for (column, piece) in columns[program.inputs..].iter_mut().zip(of_outputs.iter_mut()) {
            *column = Column::from_mut(piece);
        }
        // SAFETY: as above; every column has a piece.
        unsafe { columns::run(&program.steps, columns, PIECE) };
        for (output, piece) in outputs.iter_mut().zip(of_outputs) {
            output[start..].copy_from_slice(&piece[..count - start]);
        }
    }
}
