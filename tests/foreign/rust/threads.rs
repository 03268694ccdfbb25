// SPDX-License-Identifier: BSD-2-Clause

//! Checks Rust's standard library: threads that are joined, scoped, parked and named, channels, Mutex with
//! Condvar, RwLock, Barrier, Once, atomics, thread-local values with destructors, a panic that join catches,
//! time limits. Prints the same on every machine, and ends with 1 if a check has failed:
//!
//!     rust [THREADS]      THREADS threads at a time (4)

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{channel, sync_channel, RecvTimeoutError};
use std::sync::{Arc, Barrier, Condvar, Mutex, Once, RwLock};
use std::thread;
use std::time::{Duration, Instant};

static WRONG: AtomicBool = AtomicBool::new(false);

fn check<T: PartialEq + Debug>(what: &str, got: T, expected: T) {
    if got == expected {
        println!("{what}: {got:?}");
    } else {
        println!("{what}: {got:?} WRONG, expected {expected:?}");
        WRONG.store(true, Ordering::Relaxed);
    }
}

fn joined(count: usize) {
    let threads: Vec<_> = (0..count).map(|i| thread::spawn(move || i * i)).collect();
    let sum: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
    check("squares that threads return", sum == (0..count).map(|i| i * i).sum(), true);

    // Many threads, one after another: each can use the resources of the one before.
    let mut ended = 0;
    for round in 0..200 {
        ended += thread::spawn(move || vec![round; 1000].len() / 1000).join().unwrap();
    }
    check("threads one after another", ended, 200);

    let named = thread::Builder::new().name("a name".into()).stack_size(1 << 20);
    let name = named.spawn(|| thread::current().name().map(str::to_owned)).unwrap().join().unwrap();
    check("a thread's name", name.as_deref(), Some("a name"));
}

fn scoped(count: usize) {
    let mut numbers: Vec<u64> = (0..100_000).collect();
    let chunk = numbers.len() / count + 1;
    thread::scope(|scope| {
        for part in numbers.chunks_mut(chunk) {
            scope.spawn(move || part.iter_mut().for_each(|number| *number *= 2));
        }
    });
    check("doubled by scoped threads", numbers.iter().sum::<u64>(), 99_999 * 100_000);
}

fn channels(count: usize) {
    let (sender, receiver) = channel();
    let threads: Vec<_> = (0..count)
        .map(|from| {
            let sender = sender.clone();
            thread::spawn(move || (0..2000).for_each(|i| sender.send((from, i)).unwrap()))
        })
        .collect();
    drop(sender);
    let mut next = HashMap::new();
    let mut in_order = true;
    for (from, i) in receiver {
        let expected = next.entry(from).or_insert(0);
        in_order &= *expected == i;
        *expected += 1;
    }
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    check("each sender's values in order", in_order && next.values().all(|&n| n == 2000), true);

    // Without a buffer, sender and receiver wait for each other.
    let (sender, receiver) = sync_channel(0);
    let meeting = thread::spawn(move || (0..500).for_each(|i| sender.send(i).unwrap()));
    check("values handed over", receiver.iter().sum::<u32>(), 499 * 500 / 2);
    meeting.join().unwrap();

    let (sender, receiver) = channel::<()>();
    let begun = Instant::now();
    let limit = Duration::from_millis(5);
    check("nothing comes", receiver.recv_timeout(limit), Err(RecvTimeoutError::Timeout));
    check("not too early", begun.elapsed() >= limit, true);
    drop(sender);
    check("nobody sends", receiver.recv_timeout(limit), Err(RecvTimeoutError::Disconnected));
}

fn locked(count: usize) {
    // The threads take turns.
    let turn = Arc::new((Mutex::new(0usize), Condvar::new()));
    let threads: Vec<_> = (0..count)
        .map(|own| {
            let turn = Arc::clone(&turn);
            thread::spawn(move || {
                let (lock, changed) = &*turn;
                for _ in 0..300 {
                    let mut now = changed.wait_while(lock.lock().unwrap(), |now| *now % count != own).unwrap();
                    *now += 1;
                    changed.notify_all();
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    check("turns", *turn.0.lock().unwrap() == 300 * count, true);

    let (table, barrier, once) = (RwLock::new(HashSet::new()), Barrier::new(count), Once::new());
    let (leaders, begun, torn) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for own in 0..count {
            let (table, barrier, once) = (&table, &barrier, &once);
            let (leaders, begun, torn) = (&leaders, &begun, &torn);
            scope.spawn(move || {
                once.call_once(|| {
                    begun.fetch_add(1, Ordering::Relaxed);
                });
                for round in 0..100 {
                    table.write().unwrap().insert(round * count + own);
                    if barrier.wait().is_leader() {
                        leaders.fetch_add(1, Ordering::Relaxed);
                    }
                    if table.read().unwrap().len() != (round + 1) * count {
                        torn.store(true, Ordering::Relaxed);
                    }
                    barrier.wait();
                }
            });
        }
    });
    check("barriers had one leader each", leaders.into_inner(), 100);
    check("once", begun.into_inner(), 1);
    check("what readers see is whole", torn.into_inner(), false);
}

fn parked() {
    let flag = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&flag);
    let waiting = thread::spawn(move || {
        for round in 1..=500 {
            while seen.load(Ordering::Acquire) < round {
                thread::park();
            }
        }
    });
    for round in 1..=500 {
        flag.store(round, Ordering::Release);
        waiting.thread().unpark();
        if round % 50 == 0 {
            thread::yield_now();
        }
    }
    waiting.join().unwrap();
    // An unpark that comes first is not lost.
    thread::current().unpark();
    thread::park();
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_millis(3) {
        thread::park_timeout(Duration::from_millis(3));
    }
    check("parked and unparked", flag.load(Ordering::Relaxed), 500);
}

struct Counted(&'static AtomicUsize);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

static DROPPED: AtomicUsize = AtomicUsize::new(0);

thread_local!(static OWN: RefCell<Vec<Counted>> = RefCell::new(Vec::new()));

fn panics(count: usize) {
    std::panic::set_hook(Box::new(|_| {}));
    let lock = Arc::new(Mutex::new(0));
    let threads: Vec<_> = (0..count)
        .map(|i| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || {
                OWN.with(|own| own.borrow_mut().push(Counted(&DROPPED)));
                let _on_stack = Counted(&DROPPED);
                let _guard = if i == 0 { lock.lock().ok() } else { None };
                if i % 2 == 0 {
                    panic!("thread {i}");
                }
            })
        })
        .collect();
    let mut said = Vec::new();
    for thread in threads {
        if let Err(reason) = thread.join() {
            said.push(reason.downcast_ref::<String>().cloned().unwrap_or_default());
        }
    }
    let expected: Vec<_> = (0..count).step_by(2).map(|i| format!("thread {i}")).collect();
    check("panics that join catches", said == expected, true);
    check("what the threads had is dropped", DROPPED.load(Ordering::Relaxed) == 2 * count, true);
    check("the lock is poisoned", lock.is_poisoned(), true);
    let caught = std::panic::catch_unwind(|| [1, 2, 3][std::env::args().count() + 5]);
    check("a panic that is caught", caught.is_err(), true);
    let _ = std::panic::take_hook();
}

fn files(count: usize) -> std::io::Result<()> {
    let folder = std::path::Path::new("/tmp/rust");
    std::fs::create_dir_all(folder)?;
    thread::scope(|scope| {
        for i in 0..count {
            scope.spawn(move || {
                let mut file = std::fs::File::create(folder.join(i.to_string()))?;
                (0..1000).try_for_each(|line| writeln!(file, "{line}"))
            });
        }
    });
    let mut whole = 0;
    for entry in std::fs::read_dir(folder)? {
        let mut text = String::new();
        std::fs::File::open(entry?.path())?.read_to_string(&mut text)?;
        whole += usize::from(text.lines().map(|line| line.parse::<u32>().unwrap()).sum::<u32>() == 499_500);
    }
    check("files of threads", whole == count, true);
    std::fs::remove_dir_all(folder)
}

fn main() {
    let count = std::env::args().nth(1).map_or(4, |word| word.parse().expect("a number of threads"));
    check("there are CPUs", thread::available_parallelism().is_ok(), true);
    joined(count);
    scoped(count);
    channels(count);
    locked(count);
    parked();
    panics(count);
    check("files", files(count).is_ok(), true);
    std::process::exit(WRONG.load(Ordering::Relaxed).into());
}
