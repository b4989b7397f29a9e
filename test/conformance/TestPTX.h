// Kernels for drivers of GPUs, as PTX.
#pragma once

#include <string_view>

namespace gantry::runtime::test {

/// The number of the block, and `add_f32` reads and writes the elements there; `beyond` the one
/// behind.
inline constexpr std::string_view testPTX = R"ptx(
.version 7.0
.target sm_75
.address_size 64
.visible .entry add_f32(.param .u64 a, .param .u64 b, .param .u64 c)
{
  .reg .b32 %r<2>; .reg .f32 %f<4>; .reg .b64 %rd<8>;
  mov.u32 %r1, %ctaid.x;
  mul.wide.u32 %rd1, %r1, 4;
  ld.param.u64 %rd2, [a];
  ld.param.u64 %rd3, [b];
  ld.param.u64 %rd4, [c];
  add.s64 %rd5, %rd2, %rd1;
  add.s64 %rd6, %rd3, %rd1;
  add.s64 %rd7, %rd4, %rd1;
  ld.global.f32 %f1, [%rd5];
  ld.global.f32 %f2, [%rd6];
  add.rn.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
  ret;
}
.visible .entry beyond(.param .u64 a)
{
  .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [a];
  mov.u32 %r1, 0;
  st.global.u32 [%rd1+16], %r1;
  ret;
}
)ptx";

} // namespace gantry::runtime::test
