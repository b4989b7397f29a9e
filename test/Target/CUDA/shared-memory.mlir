// Shared memory is aligned as LLVM's passes take it to be: four neighbours are read at once.

// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --stop-after=ptx -o - | FileCheck %s
// RUN: gantry run %s --entry=main --devices=CPU:0,GPU:0 --emulate --emulate-checks all --fill ramp | FileCheck %s --check-prefix=MEAN
// CHECK: .shared .align 16 .b8
// CHECK-NOT: .shared .align 4 .b8
// RUN: gantry compile %s --entry=main --devices=CPU:0,GPU:0 --gpu-arch=sm_120 --stop-after=ptx -o - | FileCheck %s
func.func @main(%q: tensor<1x1x2x4xf32>, %k: tensor<1x1x8x4xf32>, %v: tensor<1x1x8x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = gantry.attention %q, %k, %v {scale = 0.0 : f64} : (tensor<1x1x2x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>) -> tensor<1x1x2x4xf32>
  return %0 : tensor<1x1x2x4xf32>
}
// With all scores 0 each result is the mean of the values: 14, 15, 16, 17.
// RUN: gantry run %s --entry=main --fill ramp | FileCheck %s --check-prefix=MEAN
// MEAN: {{\[}}14{{(\.0*)?}} {{ *}}15{{(\.0*)?}} {{ *}}16{{(\.0*)?}} {{ *}}17{{(\.0*)?}}]

// Seven elements are not read as eight. Queries of 300 elements are too wide for tiles.
// RUN: gantry compile %s --entry=seven --devices=CPU:0,GPU:0 --stop-after=ptx -o - | FileCheck %s --check-prefix=SEVEN
// RUN: gantry run %s --entry=seven --devices=CPU:0,GPU:0 --emulate --emulate-checks all --fill ramp
// SEVEN: .shared .align 4 .b8 {{.*}}[28]
// SEVEN-NOT: ld.shared.v4
func.func @seven(%q: tensor<1x1x2x300xf32>, %k: tensor<1x1x7x300xf32>, %v: tensor<1x1x7x4xf32>) -> tensor<1x1x2x4xf32> {
  %0 = gantry.attention %q, %k, %v {scale = 0.0 : f64} : (tensor<1x1x2x300xf32>, tensor<1x1x7x300xf32>, tensor<1x1x7x4xf32>) -> tensor<1x1x2x4xf32>
  return %0 : tensor<1x1x2x4xf32>
}
