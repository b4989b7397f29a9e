// Whether a call that we declare is the one of a library's own header.
#pragma once

#include <type_traits>

namespace gantry::runtime::cuda {

/// Numbers, handles and addresses are passed alike when they are of one size and kind.
template <typename Ours, typename Theirs>
constexpr bool isAlike = sizeof(Ours) == sizeof(Theirs) && alignof(Ours) == alignof(Theirs) &&
                         std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
                         std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <typename Ours, typename Theirs>
constexpr bool isSameCall = false;
template <typename Answer, typename... Ours, typename Other, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
constexpr bool isSameCall<Answer(Ours...), Other(Theirs...)> =
    isAlike<Answer, Other> && (isAlike<Ours, Theirs> && ...);

} // namespace gantry::runtime::cuda
