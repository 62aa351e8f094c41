// Everything that most programs need: the authoring API, the runtime, the client, and the SQLite and memory
// stores. The PostgreSQL store is in holdfast/postgres.hpp, coroutine activities are in holdfast/asio.hpp.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/activity_context.hpp>
#include <holdfast/attributes.hpp>
#include <holdfast/client.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/combinators.hpp>
#include <holdfast/context.hpp>
#include <holdfast/ended_instance.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/fan_out.hpp>
#include <holdfast/handlers.hpp>
#include <holdfast/history.hpp>
#include <holdfast/history_file.hpp>
#include <holdfast/limits.hpp>
#include <holdfast/memory.hpp>
#include <holdfast/messages.hpp>
#include <holdfast/op.hpp>
#include <holdfast/options.hpp>
#include <holdfast/orchestration.hpp>
#include <holdfast/receiver.hpp>
#include <holdfast/result.hpp>
#include <holdfast/run.hpp>
#include <holdfast/runtime.hpp>
#include <holdfast/saga.hpp>
#include <holdfast/session.hpp>
#include <holdfast/session_state.hpp>
#include <holdfast/sqlite.hpp>
#include <holdfast/task.hpp>
#include <holdfast/version.hpp>
