// Where two values of one type differ, member by member and row by row.
#pragma once

#include "testkit/conformance/model/words.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::testing::model {

struct Difference {
  std::string where{};
  std::string model{};
  std::string subject{};
};
using Differences = std::vector<Difference>;

/// What a row is called. Rows of one name are compared with each other, wherever they stand; all other values
/// of a list are compared by their position.
inline std::string name_of(const store::InstanceRow& row) {
  return row.view.instance + " (key " + words(row.view.key) + ")";
}
inline std::string name_of(const store::InstanceView& view) {
  return view.instance + " (key " + words(view.key) + ")";
}
inline std::string name_of(const store::LockedTurn& turn) {
  return turn.instance + " (key " + words(turn.key) + ")";
}
inline std::string name_of(const store::ActivityId& id) {
  return words(id.instance) + "/" + words(id.execution) + "/" + words(id.event);
}
inline std::string name_of(const store::ActivityRow& row) { return name_of(row.view.id); }
inline std::string name_of(const store::ActivityView& view) { return name_of(view.id); }
inline std::string name_of(const store::LockedActivity& activity) { return name_of(activity.id); }
inline std::string name_of(const store::CancelRecord& record) {
  return name_of(record.id) + " " + words(record.token);
}
inline std::string name_of(const store::SessionView& session) { return session.id; }
inline std::string name_of(const store::SessionLogEntry& entry) {
  return words(entry.number) + " (" + words(entry.kind) + " " + entry.session + ")";
}
inline std::string name_of(const store::WorkerView& worker) {
  return worker.info.node + " (key " + words(worker.key) + ")";
}
inline std::string name_of(const store::Message& message) { return words(message.id); }
inline std::string name_of(const store::NewTimer& timer) { return "event " + words(timer.event); }

template <class T>
concept Named = requires(const T& row) { name_of(row); };

template <class T>
void compare(const std::string& where, const T& model, const T& subject, Differences& found);

template <Struct T>
void compare_members(const std::string& where, const T& model, const T& subject, Differences& found) {
  const auto models = holdfast::detail::fields_of(model);
  const auto subjects = holdfast::detail::fields_of(subject);
  const auto compare_one = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
    const std::string_view name = holdfast::detail::field_names<T>[I];
    compare(where + (where.empty() ? "" : ".") + std::string(name), std::get<I>(models),
            std::get<I>(subjects), found);
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (compare_one(std::integral_constant<std::size_t, I>{}), ...);
  }(std::make_index_sequence<holdfast::detail::field_count<T>>{});
}

template <Named T>
void compare_rows(const std::string& where, const std::vector<T>& model, const std::vector<T>& subject,
                  Differences& found) {
  const auto names = [](const std::vector<T>& rows) {
    std::vector<std::string> all;
    for (const T& row : rows) all.push_back(name_of(row));
    return all;
  };
  const std::vector<std::string> models = names(model);
  const std::vector<std::string> subjects = names(subject);
  const auto position = [](const std::vector<std::string>& all, const std::string& name) {
    return static_cast<std::size_t>(std::find(all.begin(), all.end(), name) - all.begin());
  };
  const std::size_t before = found.size();
  for (std::size_t i = 0; i < model.size(); ++i) {
    const std::size_t j = position(subjects, models[i]);
    const std::string row = where + " " + models[i];
    if (j == subject.size()) {
      found.push_back({row, words(model[i]), "nothing"});
    } else {
      compare(row, model[i], subject[j], found);
    }
  }
  for (std::size_t j = 0; j < subject.size(); ++j) {
    if (position(models, subjects[j]) == model.size()) {
      found.push_back({where + " " + subjects[j], "nothing", words(subject[j])});
    }
  }
  if (found.size() == before && models != subjects) {
    found.push_back({where + ", the order", words(models), words(subjects)});
  }
}

template <class T>
void compare_items(const std::string& where, const std::vector<T>& model, const std::vector<T>& subject,
                   Differences& found) {
  for (std::size_t i = 0; i < std::max(model.size(), subject.size()); ++i) {
    const std::string item = where + "[" + std::to_string(i) + "]";
    if (i >= subject.size()) {
      found.push_back({item, words(model[i]), "nothing"});
    } else if (i >= model.size()) {
      found.push_back({item, "nothing", words(subject[i])});
    } else {
      compare(item, model[i], subject[i], found);
    }
  }
}

namespace detail {
template <class T>
struct Comparer {
  static void run(const std::string& where, const T& model, const T& subject, Differences& found) {
    if constexpr (Struct<T>) {
      // Most are equal: the text of each member's place is made only for those that are not.
      if constexpr (std::equality_comparable<T>) {
        if (model == subject) return;
      }
      compare_members(where, model, subject, found);
    } else if (model != subject) {
      found.push_back({where, words(model), words(subject)});
    }
  }
};
template <class Tag>
struct Comparer<Token<Tag>> {
  static void run(const std::string& where, Token<Tag> model, Token<Tag> subject, Differences& found) {
    if (model != subject) found.push_back({where, words(model), words(subject)});
  }
};
template <class Tag>
struct Comparer<Number<Tag>> {
  static void run(const std::string& where, Number<Tag> model, Number<Tag> subject, Differences& found) {
    if (model != subject) found.push_back({where, words(model), words(subject)});
  }
};
template <class T>
struct Comparer<std::vector<T>> {
  static void run(const std::string& where, const std::vector<T>& model, const std::vector<T>& subject,
                  Differences& found) {
    if constexpr (Named<T>) {
      compare_rows(where, model, subject, found);
    } else {
      compare_items(where, model, subject, found);
    }
  }
};
template <class T>
struct Comparer<std::optional<T>> {
  static void run(const std::string& where, const std::optional<T>& model, const std::optional<T>& subject,
                  Differences& found) {
    if (model && subject) {
      compare(where, *model, *subject, found);
    } else if (model || subject) {
      found.push_back({where, words(model), words(subject)});
    }
  }
};
template <class T>
struct Comparer<StoreResult<T>> {
  static void run(const std::string& where, const StoreResult<T>& model, const StoreResult<T>& subject,
                  Differences& found) {
    if (model && subject) {
      compare(where, *model, *subject, found);
    } else if (model || subject || model.error() != subject.error()) {
      found.push_back({where, words(model), words(subject)});
    }
  }
};
}  // namespace detail

/// Adds what differs; nothing when the two are equal.
template <class T>
void compare(const std::string& where, const T& model, const T& subject, Differences& found) {
  detail::Comparer<T>::run(where, model, subject, found);
}

}  // namespace holdfast::testing::model
