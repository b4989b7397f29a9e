// A convolution's terms are added in order, each by one fused multiply-add, also where its rows are
// shorter than registers: nothing is left to the vectoriser, which would round products on AArch64.
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate --place=op:Conv2D=GPU:0 --target-cpu=aarch64 --stop-after=llvm -o - | FileCheck %s --check-prefix=FUSED
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate --place=op:Conv2D=GPU:0 --target-cpu=x86-64-v3 --stop-after=llvm -o - | FileCheck %s --check-prefix=FUSED
// FUSED-LABEL: define void @conv
// FUSED-NOT: {{fmul|fadd}}
// FUSED: @llvm.fma
// FUSED-NOT: {{fmul|fadd}}
// FUSED: ret void

// A processor without such an instruction rounds both.
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate --place=op:Conv2D=GPU:0 --target-cpu=x86-64-v2 --stop-after=llvm -o - | FileCheck %s --check-prefix=PARTS
// PARTS-LABEL: define void @conv
// PARTS-NOT: @llvm.fma
// PARTS: fmul contract <4 x float>
// PARTS: fadd contract <4 x float>
// PARTS-NOT: @llvm.fma
// PARTS: ret void

func.func @main(%x: tensor<1x33x12x8xf32>, %w: tensor<33x1x4x4xf32>) -> tensor<1x33x5x3xf32> {
  %0 = gantry.conv %x, %w {strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 33 : i64} : (tensor<1x33x12x8xf32>, tensor<33x1x4x4xf32>) -> tensor<1x33x5x3xf32>
  return %0 : tensor<1x33x5x3xf32>
}
