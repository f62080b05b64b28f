//! The sum of the gradients of all parts of a batch, the same on every rank.

use std::collections::HashSet;
use std::ops::Range;

use cotangent_engine::{Float, GradientView, ParamId};
use cotangent_manifolds::Module;

use crate::Accumulated;
use crate::accumulate::Sum;
use crate::exchange::{Exchange, ExchangeError};
use crate::gradient_source::GradientSource;

/// The sum of losses and gradients over the parts of all ranks: those of rank 0 in their order, then those of
/// rank 1, and so on. The result has the bits of one process that adds the same parts.
///
/// Each rank sums a slice of the parameters, of equal size up to a row, and sends its sums to all others.
pub(crate) struct RankSum<'a> {
    ranks: &'a dyn Exchange,
    tables: Tables,
    /// What each rank has sent so far of this rank's slice.
    received: Vec<Vec<u8>>,
}

impl<'a> RankSum<'a> {
    pub(crate) fn new<T: Float, N: Module<T>>(ranks: &'a dyn Exchange, module: &N) -> Self {
        let received = vec![Vec::new(); ranks.size()];
        RankSum { ranks, tables: Tables::new(module, ranks.size()), received }
    }

    /// Sends the losses and gradients of some parts to the ranks that sum them. All ranks call it as often.
    pub(crate) fn send<T: Float>(&mut self, own: &[(f64, &Accumulated<T>)]) -> Result<(), ExchangeError> {
        let parts: Vec<Vec<u8>> = (0..self.ranks.size()).map(|to| self.tables.parts(own, to)).collect();
        let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        let received = self.ranks.all_to_all(&parts)?;
        self.received.iter_mut().zip(received).for_each(|(all, part)| all.extend(part));
        Ok(())
    }

    /// The sums over all that was sent.
    pub(crate) fn finish<T: Float>(self) -> Result<(f64, Accumulated<T>), ExchangeError> {
        let RankSum { ranks, tables, received } = self;
        let cut = || ranks.error("a message that is cut");
        let slice: Slice<T> = tables.add(&received, ranks.rank()).ok_or_else(cut)?;
        let sums = ranks.all_gather(&slice.bytes())?;
        Ok((slice.loss, tables.joined(&slice.touched, &sums).ok_or_else(cut)?))
    }
}

/// A parameter as rows of a table.
struct Table {
    id: ParamId,
    rows: usize,
    width: usize,
    /// Number of elements of the parameters before it.
    before: usize,
}

/// The parameters of a module, in the order of its walk.
struct Tables {
    tables: Vec<Table>,
    elements: usize,
    ranks: usize,
}

/// Which rows of a parameter have a gradient, in the order in which the parts name them.
#[derive(Clone)]
enum Touched {
    None,
    Rows { order: Vec<u32>, seen: HashSet<u32> },
    All,
}

/// What a rank has summed: its slice of every parameter.
struct Slice<T: Float> {
    loss: f64,
    touched: Vec<Touched>,
    sums: Vec<Option<Sum<T>>>,
}

const NONE: u8 = 0;
const DENSE: u8 = 1;
const ROWS: u8 = 2;

impl Tables {
    fn new<T: Float, N: Module<T>>(module: &N, ranks: usize) -> Self {
        let mut tables = Tables { tables: Vec::new(), elements: 0, ranks };
        module.each(|_, param| {
            let (elements, width) = (param.value().len(), param.value().width());
            let rows = elements.checked_div(width).unwrap_or(0);
            tables.tables.push(Table { id: param.id(), rows, width, before: tables.elements });
            tables.elements += elements;
        });
        tables
    }

    /// The rows of a parameter that a rank sums.
    fn slice(&self, table: &Table, rank: usize) -> Range<usize> {
        let first = |rank: usize| {
            let start = self.elements * rank / self.ranks;
            start.saturating_sub(table.before).div_ceil(table.width.max(1)).min(table.rows)
        };
        first(rank)..first(rank + 1)
    }

    /// The message to a rank: of each part the loss, the rows that have a gradient, and the gradients in that
    /// rank's slice.
    fn parts<T: Float>(&self, own: &[(f64, &Accumulated<T>)], to: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (loss, gradients) in own {
            bytes.extend(loss.to_le_bytes());
            for table in &self.tables {
                let slice = self.slice(table, to);
                match gradients.gradient(table.id) {
                    None => bytes.push(NONE),
                    Some(GradientView::Dense(values)) => {
                        bytes.push(DENSE);
                        let values = &values[slice.start * table.width..slice.end * table.width];
                        bytes.extend_from_slice(bytemuck::cast_slice(values));
                    }
                    Some(GradientView::Rows { rows, values, width }) => {
                        assert_eq!(width, table.width, "a row-sparse gradient has the rows of its parameter");
                        bytes.push(ROWS);
                        bytes.extend((rows.len() as u64).to_le_bytes());
                        bytes.extend_from_slice(bytemuck::cast_slice(rows));
                        let values = rows.iter().zip(values.chunks_exact(width));
                        for (_, values) in values.filter(|(row, _)| slice.contains(&(**row as usize))) {
                            bytes.extend_from_slice(bytemuck::cast_slice(values));
                        }
                    }
                }
            }
        }
        bytes
    }

    /// Adds the parts in the messages of all ranks, in this rank's slice. `None` if a message is cut.
    fn add<T: Float>(&self, messages: &[Vec<u8>], rank: usize) -> Option<Slice<T>> {
        let count = self.tables.len();
        let mut sum = Slice { loss: 0.0, touched: vec![Touched::None; count], sums: vec![None; count] };
        for message in messages {
            let mut message = Reader(message);
            while !message.0.is_empty() {
                sum.loss += f64::from_le_bytes(message.take(8)?.try_into().ok()?);
                for (i, table) in self.tables.iter().enumerate() {
                    let slice = self.slice(table, rank);
                    let len = slice.len() * table.width;
                    match message.take(1)?[0] {
                        NONE => {}
                        DENSE => {
                            let values = message.elements::<T>(len)?;
                            sum.touched[i] = Touched::All;
                            Sum::add_to(&mut sum.sums[i], GradientView::Dense(&values), len, 1.0);
                        }
                        _ => {
                            let count = u64::from_le_bytes(message.take(8)?.try_into().ok()?);
                            let all = message.elements::<u32>(usize::try_from(count).ok()?)?;
                            sum.touched[i].name(&all);
                            let own = all.iter().filter(|&&row| slice.contains(&(row as usize)));
                            let rows: Vec<u32> = own.map(|&row| row - slice.start as u32).collect();
                            let values = message.elements::<T>(rows.len() * table.width)?;
                            let (rows, values) = (&rows[..], &values[..]);
                            let view = GradientView::Rows { rows, values, width: table.width };
                            Sum::add_to(&mut sum.sums[i], view, len, 1.0);
                        }
                    }
                }
            }
        }
        Some(sum)
    }

    /// The sums of all ranks' slices. `None` if a message is cut.
    fn joined<T: Float>(&self, touched: &[Touched], messages: &[Vec<u8>]) -> Option<Accumulated<T>> {
        let mut messages: Vec<Reader<'_>> = messages.iter().map(|message| Reader(message)).collect();
        let mut sums = Accumulated::new();
        for (table, touched) in self.tables.iter().zip(touched) {
            let slices: Vec<Range<usize>> = (0..self.ranks).map(|rank| self.slice(table, rank)).collect();
            match touched {
                Touched::None => {}
                Touched::All => {
                    let mut values: Vec<T> = Vec::with_capacity(table.rows * table.width);
                    for (message, slice) in messages.iter_mut().zip(&slices) {
                        values.extend(message.elements::<T>(slice.len() * table.width)?);
                    }
                    sums.put(table.id, Sum::Dense(values));
                }
                Touched::Rows { order, .. } => {
                    let mut values: Vec<T> = Vec::with_capacity(order.len() * table.width);
                    for &row in order {
                        let rank = slices.iter().position(|slice| slice.contains(&(row as usize)))?;
                        values.extend(messages[rank].elements::<T>(table.width)?);
                    }
                    sums.put(table.id, Sum::from_rows(order.clone(), values, table.width));
                }
            }
        }
        Some(sums)
    }
}

impl Touched {
    /// Adds the rows that a part names.
    fn name(&mut self, rows: &[u32]) {
        if let Touched::None = self {
            *self = Touched::Rows { order: Vec::new(), seen: HashSet::new() };
        }
        if let Touched::Rows { order, seen } = self {
            order.extend(rows.iter().copied().filter(|&row| seen.insert(row)));
        }
    }
}

impl<T: Float> Slice<T> {
    /// The sums, one after the other. Each rank knows which rows they are of.
    fn bytes(&self) -> Vec<u8> {
        let values = self.sums.iter().flatten().map(|sum| sum.view().parts().0);
        values.map(bytemuck::cast_slice::<T, u8>).collect::<Vec<_>>().concat()
    }
}

/// The bytes of a message that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, left) = self.0.split_at_checked(count)?;
        self.0 = left;
        Some(taken)
    }

    fn elements<E: bytemuck::Pod>(&mut self, count: usize) -> Option<Vec<E>> {
        let bytes = self.take(count.checked_mul(size_of::<E>())?)?;
        Some(bytes.chunks_exact(size_of::<E>()).map(bytemuck::pod_read_unaligned).collect())
    }
}
