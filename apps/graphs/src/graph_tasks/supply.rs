//! Training examples, made by threads beside the training.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use cotangent_apps_common::error::Result;

/// Makes what a training takes, in the order of numbers, on threads of its own.
///
/// What is made depends on the lesson and the number alone, so neither the number of threads nor their speed
/// changes a bit of the training. The threads stop when as many are ready as a queue may hold.
pub(super) struct Supply<'a, E> {
    make: &'a (dyn Fn(usize, u64) -> Result<E> + Sync),
    /// Numbers that a step takes together, in any order.
    batch: u64,
    /// The largest number of slots that are ready or being made.
    ahead: usize,
    queue: Mutex<Queue<E>>,
    changed: Condvar,
}

struct Queue<E> {
    /// What is made now; nothing is before the first [`Supply::turn_to`].
    lesson: Option<usize>,
    /// The first number of the step under way; `None` before the first one.
    floor: Option<u64>,
    slots: BTreeMap<u64, Slot<E>>,
    closed: bool,
}

enum Slot<E> {
    Making,
    Ready(Result<E>),
    Taken,
}

/// Ends the threads of a supply, also after a panic.
struct Close<'s, 'a, E: Send>(&'s Supply<'a, E>);

impl<E: Send> Drop for Close<'_, '_, E> {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl<'a, E: Send> Supply<'a, E> {
    /// A supply of what `make` returns for a lesson and a number. A step takes `batch` numbers, and the
    /// supply may be `ahead` steps ahead.
    pub(super) fn new(make: &'a (dyn Fn(usize, u64) -> Result<E> + Sync), batch: u64, ahead: usize) -> Self {
        let queue = Queue { lesson: None, floor: None, slots: BTreeMap::new(), closed: false };
        let ahead = ahead.saturating_mul(batch as usize);
        Supply { make, batch, ahead, queue: Mutex::new(queue), changed: Condvar::new() }
    }

    /// Calls `train` while this many threads make examples.
    pub(super) fn during<R>(&self, threads: usize, train: impl FnOnce() -> R) -> R {
        std::thread::scope(|scope| {
            let _close = Close(self);
            for _ in 0..threads {
                scope.spawn(|| self.work());
            }
            train()
        })
    }

    /// Goes on with a lesson. What was made for another one is dropped.
    pub(super) fn turn_to(&self, lesson: usize) {
        let mut queue = self.lock();
        if queue.lesson != Some(lesson) {
            queue.lesson = Some(lesson);
            queue.slots.clear();
            self.changed.notify_all();
        }
    }

    /// The example of a number, once.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn take(&self, number: u64) -> Result<E> {
        let mut queue = self.lock();
        let floor = number / self.batch * self.batch;
        if queue.floor.is_none_or(|old| old < floor) {
            queue.floor = Some(floor);
            queue.slots.retain(|&slot, _| slot >= floor);
        }
        while matches!(queue.slots.get(&number), Some(Slot::Making)) && !queue.closed {
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let slot = queue.slots.insert(number, Slot::Taken);
        self.changed.notify_all();
        match slot {
            Some(Slot::Ready(example)) => example,
            // No thread has come to it.
            _ => {
                let lesson = queue.lesson.expect("a lesson has begun");
                drop(queue);
                (self.make)(lesson, number)
            }
        }
    }

    /// Makes examples until the supply is closed.
    fn work(&self) {
        let _close = Close(self);
        let mut queue = self.lock();
        while !queue.closed {
            let Some((lesson, number)) = queue.next(self.ahead) else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            queue.slots.insert(number, Slot::Making);
            drop(queue);
            let example = (self.make)(lesson, number);
            queue = self.lock();
            let making = matches!(queue.slots.get(&number), Some(Slot::Making));
            if making && queue.lesson == Some(lesson) {
                queue.slots.insert(number, Slot::Ready(example));
            }
            self.changed.notify_all();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue<E>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<E> Queue<E> {
    /// The lesson and the number that a thread makes next, if there is room for it.
    fn next(&self, ahead: usize) -> Option<(usize, u64)> {
        let waiting = self.slots.values().filter(|slot| !matches!(slot, Slot::Taken)).count();
        if waiting >= ahead {
            return None;
        }
        let number = (self.floor?..).find(|number| !self.slots.contains_key(number))?;
        Some((self.lesson?, number))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use cotangent_apps_common::error::AppError;

    use super::*;

    /// In any order within a step, from any first step, for any number of threads. A new lesson drops what
    /// was made of the old one.
    #[test]
    fn every_number_is_supplied_for_its_lesson() {
        let make = |lesson: usize, number: u64| Ok((lesson, number));
        for threads in [0, 1, 3] {
            let supply = Supply::new(&make, 4, 2);
            let taken = supply.during(threads, || {
                let mut taken = Vec::new();
                for step in 5..60 {
                    let lesson = usize::from(step >= 20) + usize::from(step >= 40);
                    supply.turn_to(lesson);
                    for number in [2, 0, 3, 1].map(|i| 4 * step + i) {
                        let example = supply.take(number);
                        taken.push(example.unwrap() == (lesson, number));
                    }
                }
                taken
            });
            assert!(taken.iter().all(|right| *right), "{threads} threads");
        }
    }

    /// What a thread still makes for a lesson that has ended takes no place of the next one, though another
    /// thread makes the same number for it.
    #[test]
    fn a_late_example_of_an_old_lesson_is_dropped() {
        let (calls, called) = (Mutex::new(Vec::new()), Condvar::new());
        let until = |call: (usize, u64)| {
            let calls = calls.lock().unwrap();
            drop(called.wait_while(calls, |calls| !calls.contains(&call)).unwrap());
        };
        let make = |lesson: usize, number: u64| {
            calls.lock().unwrap().push((lesson, number));
            called.notify_all();
            match (lesson, number) {
                (0, 1) => until((1, 1)),
                // It ends after the other thread has gone on from the old example.
                (1, 1) => until((1, 2)),
                _ => {}
            }
            Ok((lesson, number))
        };
        let supply = Supply::new(&make, 2, 2);
        let taken = supply.during(2, || {
            supply.turn_to(0);
            supply.take(0).unwrap();
            until((0, 1));
            supply.turn_to(1);
            until((1, 2));
            supply.take(1)
        });
        assert_eq!(taken.unwrap(), (1, 1));
    }

    /// The threads are at most two steps ahead, and make nothing twice.
    #[test]
    fn the_queue_is_bounded() {
        let made = AtomicUsize::new(0);
        let make = |_: usize, number: u64| {
            made.fetch_add(1, Ordering::SeqCst);
            Ok(number)
        };
        let supply = Supply::new(&make, 3, 2);
        supply.during(2, || {
            supply.turn_to(0);
            for number in 0..30 {
                supply.take(number).unwrap();
                assert!(made.load(Ordering::SeqCst) <= number as usize + 1 + 6 + 1);
            }
        });
        assert!((30..=37).contains(&made.load(Ordering::SeqCst)));
    }

    /// An example that cannot be made is an error when it is taken, not when it is made.
    #[test]
    fn an_error_is_that_of_its_number() {
        let make = |_: usize, number: u64| match number {
            0..7 => Ok(number),
            _ => Err(AppError::usage(format!("no number {number}"))),
        };
        for threads in [0, 2] {
            let supply = Supply::new(&make, 2, 9);
            supply.during(threads, || {
                supply.turn_to(0);
                assert!((0..7).all(|number| supply.take(number).is_ok_and(|example| example == number)));
                for number in [9, 7] {
                    let error = supply.take(number).unwrap_err().to_string();
                    assert_eq!(error, format!("no number {number}"), "{threads} threads");
                }
            });
        }
    }
}
