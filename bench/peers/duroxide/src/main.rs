// One round of duroxide: its runtime, its SQLite provider on a new file, and clients, in this process.
//
//   peer_duroxide <p5|s5> <in flight> <seconds> <folder> <full|normal>
//
// The provider asks SQLite for a level of `synchronous` that SQLite does not know, and is left with NORMAL, with
// which a commit may be lost when the power fails. `normal` measures it so; `full` sets FULL on each of its
// connections, which is what the other contestants promise.
use duroxide::providers::sqlite::SqliteProvider;
use duroxide::runtime::registry::ActivityRegistry;
use duroxide::runtime::{Runtime, RuntimeOptions};
use duroxide::{
    ActivityContext, Client, OrchestrationContext, OrchestrationRegistry, OrchestrationStatus,
};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const ACTIVITIES: usize = 5;
const CONNECTIONS: usize = 5; // of the provider's pool
// Ten times as often as its default: with one instance in flight that is nearly all of its latency.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
const RUN_UP: Duration = Duration::from_millis(1500);

static STEPS: AtomicUsize = AtomicUsize::new(0);
static FAILED: AtomicUsize = AtomicUsize::new(0);

async fn charge_card(_: ActivityContext, order: String) -> Result<String, String> {
    STEPS.fetch_add(1, Ordering::Relaxed);
    Ok(order)
}

async fn in_parallel(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    let parts = (0..ACTIVITIES)
        .map(|_| ctx.schedule_activity("charge_card", order.clone()))
        .collect();
    ctx.join(parts).await.pop().expect("five of them")
}

async fn in_sequence(ctx: OrchestrationContext, order: String) -> Result<String, String> {
    let mut receipt = String::new();
    for _ in 0..ACTIVITIES {
        receipt = ctx.schedule_activity("charge_card", order.clone()).await?;
    }
    Ok(receipt)
}

// All connections at once, so that none is left out. Returns the level that they have then: 2 is FULL.
async fn set_synchronous(provider: &SqliteProvider, full: bool) -> Result<i64, sqlx::Error> {
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(provider.get_pool().acquire().await?);
    }
    let mut level = 0;
    for connection in &mut connections {
        if full {
            sqlx::query("PRAGMA synchronous = FULL")
                .execute(&mut **connection)
                .await?;
        }
        level = sqlx::query_scalar("PRAGMA synchronous")
            .fetch_one(&mut **connection)
            .await?;
    }
    Ok(level)
}

// False when the runtime has given the instance up, as it does when SQLite stays locked for too long.
async fn run_one(client: &Client, id: &str) -> Result<bool, String> {
    client
        .start_orchestration(id, "order", id)
        .await
        .map_err(|error| format!("start: {error:?}"))?;
    let end = client
        .wait_for_orchestration(id, Duration::from_secs(60))
        .await
        .map_err(|error| format!("wait: {error:?}"))?;
    match end {
        OrchestrationStatus::Completed { output, .. } if output == id => Ok(true),
        OrchestrationStatus::Failed { .. } => Ok(false),
        other => Err(format!("instance {id} ended as {other:?}")),
    }
}

// How many activities ran while the clock did.
async fn count_steps(begin: Instant, end: Instant) -> usize {
    tokio::time::sleep_until(begin.into()).await;
    let before = STEPS.load(Ordering::Relaxed);
    tokio::time::sleep_until(end.into()).await;
    STEPS.load(Ordering::Relaxed) - before
}

// Of each instance that ended after the beginning, in milliseconds.
async fn be_client(
    client: Arc<Client>,
    last_id: Arc<AtomicU64>,
    begin: Instant,
    end: Instant,
) -> Result<Vec<f64>, String> {
    let mut latencies = Vec::new();
    loop {
        let id = format!("order-20300101-{}", last_id.fetch_add(1, Ordering::Relaxed));
        let started = Instant::now();
        let completed = run_one(&client, &id).await?;
        let now = Instant::now();
        if !completed {
            FAILED.fetch_add(1, Ordering::Relaxed);
        } else if now >= begin {
            latencies.push((now - started).as_secs_f64() * 1000.0);
        }
        if now >= end {
            return Ok(latencies);
        }
    }
}

fn quantile(sorted: &[f64], part: f64) -> f64 {
    if sorted.is_empty() {
        return 0.0;
    }
    sorted[(part * (sorted.len() - 1) as f64) as usize]
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, shape, in_flight, seconds, folder, level] = arguments.as_slice() else {
        return Err(
            "takes a shape, the number in flight, seconds, a folder and full or normal".into(),
        );
    };
    let in_flight: usize = in_flight.parse()?;
    let length = Duration::from_secs_f64(seconds.parse()?);

    let provider = Arc::new(
        SqliteProvider::new(&format!("sqlite:{folder}/duroxide.db?mode=rwc"), None).await?,
    );
    let level = set_synchronous(&provider, level == "full").await?;
    let activities = ActivityRegistry::builder()
        .register("charge_card", charge_card)
        .build();
    let orchestrations = if shape == "s5" {
        OrchestrationRegistry::builder().register("order", in_sequence)
    } else {
        OrchestrationRegistry::builder().register("order", in_parallel)
    };
    let options = RuntimeOptions {
        dispatcher_min_poll_interval: POLL_INTERVAL,
        ..Default::default()
    };
    let _runtime = Runtime::start_with_options(
        provider.clone(),
        activities,
        orchestrations.build(),
        options,
    )
    .await;

    let client = Arc::new(Client::new(provider));
    let last_id = Arc::new(AtomicU64::new(0));
    let begin = Instant::now() + RUN_UP;
    let steps = tokio::spawn(count_steps(begin, begin + length));
    let clients: Vec<_> = (0..in_flight)
        .map(|_| {
            tokio::spawn(be_client(
                client.clone(),
                last_id.clone(),
                begin,
                begin + length,
            ))
        })
        .collect();
    let mut latencies = Vec::new();
    for client in clients {
        latencies.extend(client.await??);
    }
    latencies.sort_by(f64::total_cmp);
    let settings = format!(
        "one process, SQLite in a file, WAL, synchronous={}, its pool of {CONNECTIONS} connections, its 2 turn and \
         2 activity workers, polling every {} ms",
        if level == 2 { "FULL" } else { "NORMAL" },
        POLL_INTERVAL.as_millis()
    );
    println!(
        "{{\"versions\": \"duroxide 0.1.32\", \"settings\": \"{settings}\", \"steps\": {}, \"seconds\": {}, \
         \"p50_ms\": {}, \"p99_ms\": {}, \"failed\": {}}}",
        steps.await?,
        length.as_secs_f64(),
        quantile(&latencies, 0.5),
        quantile(&latencies, 0.99),
        FAILED.load(Ordering::Relaxed)
    );
    Ok(())
}
