// Maps and sets whose nodes live in blocks: for what comes and goes with each step.
#pragma once

#include <holdfast/detail/blocks.hpp>

#include <functional>
#include <list>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace holdfast {

template <class Key, class Value>
using BlockMap = std::map<Key, Value, std::less<>, detail::BlockAllocator<std::pair<const Key, Value>>>;
template <class Key, class Value>
using BlockMultimap =
    std::multimap<Key, Value, std::less<>, detail::BlockAllocator<std::pair<const Key, Value>>>;
template <class Key, class Value>
using BlockHashMap = std::unordered_map<Key, Value, std::hash<Key>, std::equal_to<Key>,
                                        detail::BlockAllocator<std::pair<const Key, Value>>>;
template <class Key>
using BlockSet = std::set<Key, std::less<>, detail::BlockAllocator<Key>>;
template <class T>
using BlockList = std::list<T, detail::BlockAllocator<T>>;

}  // namespace holdfast
