// A weight that a product wants in panels and other arithmetic as it is is there twice; over the limit it is kept once,
// which is the cheapest that helps, with the same bits.
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@1100KiB --simulate -o %t.gantry; test \$? = 3" 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: the plan needs {{.*}} the limit is 1.07 MiB: constants 1 MiB
// RUN: gantry compile %s --devices=CPU:0,GPU:0@1100KiB --simulate --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: over the limit: weights that are read in two layouts are kept in one: saves {{.*}} KiB, costs no time; predicted {{.*}} (1.00x)
// CHECK-NOT: remark
// RUN: gantry run %s --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy --output z=%t.1z.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy --output z=%t.2z.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: cmp %t.1z.npy %t.2z.npy
func.func @main(%x: tensor<4x256xf32> {gantry.name = "x"}, %s: tensor<256x1xf32> {gantry.name = "s"})
    -> (tensor<4x512xf32> {gantry.name = "y"}, tensor<256xf32> {gantry.name = "z"}) {
  %w = gantry.constant dense<0.01> : tensor<256x512xf32>
  %y = gantry.matmul %x, %w : (tensor<4x256xf32>, tensor<256x512xf32>) -> tensor<4x512xf32>
  %m = gantry.mul %w, %s : (tensor<256x512xf32>, tensor<256x1xf32>) -> tensor<256x512xf32>
  %z = gantry.reduce_max %m {axes = array<i64: 1>} : (tensor<256x512xf32>) -> tensor<256xf32>
  return %y, %z : tensor<4x512xf32>, tensor<256xf32>
}
