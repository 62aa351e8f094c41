// All of Holdfast that a program needs which runs orchestrations in its own process: authoring, runtime,
// client, and the stores that come with the library.
#pragma once

#include <holdfast/activity.hpp>
#include <holdfast/activity_context.hpp>
#include <holdfast/client.hpp>
#include <holdfast/codec.hpp>
#include <holdfast/combinators.hpp>
#include <holdfast/context.hpp>
#include <holdfast/errors.hpp>
#include <holdfast/fan_out.hpp>
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
