#include "testkit/conformance/model/shrinking.hpp"

#include <algorithm>
#include <tuple>
#include <type_traits>
#include <utility>

namespace holdfast::testing::model {

namespace {

template <class T>
struct Simpler {
  static std::vector<T> of(const T& value) {
    std::vector<T> all;
    if constexpr (std::is_class_v<T> && std::is_aggregate_v<T> && !std::is_same_v<T, Made>) {
      add_members(value, all, std::make_index_sequence<holdfast::detail::field_count<T>>{});
    }
    return all;
  }

 private:
  template <std::size_t... I>
  static void add_members(const T& value, std::vector<T>& all, std::index_sequence<I...>) {
    (add_member<I>(value, all), ...);
  }
  template <std::size_t I>
  static void add_member(const T& value, std::vector<T>& all) {
    const T plain{};
    const auto& member = std::get<I>(holdfast::detail::fields_of(value));
    const auto& standard = std::get<I>(holdfast::detail::fields_of(plain));
    if (member == standard) return;
    const auto with = [&](const auto& replacement) {
      T copy = value;
      std::get<I>(holdfast::detail::fields_of(copy)) = replacement;
      all.push_back(std::move(copy));
    };
    with(standard);
    for (const auto& variant : Simpler<std::remove_cvref_t<decltype(member)>>::of(member)) with(variant);
  }
};

template <class T>
struct Simpler<std::vector<T>> {
  static std::vector<std::vector<T>> of(const std::vector<T>& values) {
    std::vector<std::vector<T>> all;
    for (std::size_t i = 0; i < values.size(); ++i) {
      all.push_back(values);
      all.back().erase(all.back().begin() + static_cast<std::ptrdiff_t>(i));
      for (const T& variant : Simpler<T>::of(values[i])) {
        all.push_back(values);
        all.back()[i] = variant;
      }
    }
    return all;
  }
};

template <class T>
struct Simpler<std::optional<T>> {
  static std::vector<std::optional<T>> of(const std::optional<T>& value) {
    std::vector<std::optional<T>> all;
    if (!value) return all;
    // A lease of no length is no simpler lease.
    if (!std::is_same_v<T, Duration> && *value != T{}) all.emplace_back(T{});
    for (T& variant : Simpler<T>::of(*value)) all.emplace_back(std::move(variant));
    return all;
  }
};

// Everywhere in a program, one name becomes another.
template <class E>
struct Renaming {
  E from;
  E to;

  void in(Program& program) const {
    for (Step& step : program) {
      std::visit([this](auto& operation) { this->in(operation); }, step.operation);
    }
  }

 private:
  template <class T>
  void in(T& value) const {
    if constexpr (std::is_same_v<T, E>) {
      if (value == from) value = to;
    } else if constexpr (std::is_class_v<T> && std::is_aggregate_v<T>) {
      std::apply([this](auto&... member) { (this->in(member), ...); }, holdfast::detail::fields_of(value));
    }
  }
  template <class T>
  void in(std::vector<T>& values) const {
    for (T& value : values) in(value);
  }
  template <class T>
  void in(std::optional<T>& value) const {
    if (value) in(*value);
  }
};

class Shrinker {
 public:
  Shrinker(Program program, const Fails& fails, std::size_t runs)
      : program_(std::move(program)), fails_(fails), runs_(runs) {}

  Program run() {
    bool progress = true;
    while (progress && runs_ > 0) {
      progress = remove_steps();
      progress = use_fewer_names() || progress;
      progress = simplify_steps() || progress;
    }
    return std::move(program_);
  }

 private:
  // Whether the candidate shows a difference too: then it is the program from now on, up to that step.
  bool take(Program candidate) {
    if (runs_ == 0) return false;
    --runs_;
    const std::optional<std::size_t> length = fails_(candidate);
    if (!length) return false;
    candidate.resize(std::min(*length, candidate.size()));
    program_ = std::move(candidate);
    return true;
  }

  bool remove_steps() {
    bool progress = false;
    for (std::size_t size = std::max<std::size_t>(program_.size() / 2, 1); size > 0; size /= 2) {
      // From the end, so that what is referred to goes after what refers to it.
      for (std::size_t end = program_.size(); end > 0 && runs_ > 0;) {
        const std::size_t begin = end > size ? end - size : 0;
        Program candidate = program_;
        candidate.erase(candidate.begin() + static_cast<std::ptrdiff_t>(begin),
                        candidate.begin() + static_cast<std::ptrdiff_t>(std::min(end, candidate.size())));
        progress = take(std::move(candidate)) || progress;
        end = std::min(begin, program_.size());
      }
    }
    return progress;
  }

  // What can't be changed in one step alone, because others name the same.
  bool use_fewer_names() {
    bool progress = rename(Renaming<On>{On::right, On::left});
    progress = rename(Renaming<On>{On::other, On::left}) || progress;
    for (const Id id : {Id::b, Id::c, Id::d, Id::e}) {
      progress = rename(Renaming<Id>{id, Id::a}) || progress;
    }
    progress = rename(Renaming<Sid>{Sid::t, Sid::s}, Renaming<At>{At::session_t, At::session_s}) || progress;
    progress = rename(Renaming<Sid>{Sid::u, Sid::s}) || progress;
    progress = rename(Renaming<Node>{Node::cyd, Node::ada}, Renaming<Who>{Who::cyd, Who::ada}) || progress;
    progress = rename(Renaming<Node>{Node::cyd, Node::bob}, Renaming<Who>{Who::cyd, Who::bob}) || progress;
    return rename(Renaming<Node>{Node::bob, Node::ada}, Renaming<Who>{Who::bob, Who::ada},
                  Renaming<Who>{Who::former_bob, Who::former_ada}) ||
           progress;
  }

  template <class... E>
  bool rename(const Renaming<E>&... renamings) {
    Program candidate = program_;
    (renamings.in(candidate), ...);
    return candidate != program_ && take(std::move(candidate));
  }

  bool simplify_steps() {
    bool progress = false;
    for (std::size_t i = 0; i < program_.size(); ++i) {
      while (simplify_step(i)) progress = true;
    }
    return progress;
  }

  bool simplify_step(std::size_t i) {
    if (i >= program_.size()) return false;
    for (Operation& operation : simpler(program_[i].operation)) {
      Program candidate = program_;
      candidate[i].operation = std::move(operation);
      if (take(std::move(candidate))) return true;
    }
    return false;
  }

  Program program_;
  const Fails& fails_;
  std::size_t runs_;
};

}  // namespace

std::vector<Operation> simpler(const Operation& operation) {
  std::vector<Operation> all;
  std::visit(
      [&](const auto& op) {
        for (auto& variant : Simpler<std::remove_cvref_t<decltype(op)>>::of(op)) {
          all.emplace_back(std::move(variant));
        }
      },
      operation);
  return all;
}

Program shrink(Program program, const Fails& fails, std::size_t runs) {
  return Shrinker(std::move(program), fails, runs).run();
}

}  // namespace holdfast::testing::model
