mod atomic;
mod checkpoint;
