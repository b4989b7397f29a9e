// What a product made is read at the end alone, and waits on the host meanwhile, with the same bits: no other way takes
// bytes off, since one weight is read all along, from the left, so that no rows can go alone.
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@1400KiB --simulate -o %t.gantry; test \$? = 3"
// RUN: gantry compile %s --devices=CPU:0,GPU:0@1400KiB --simulate --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: over the limit: GPU:0: 1 value of 256 KiB waits on the host for its next use: saves 256 KiB, adds {{.*}} per run; predicted {{.*}} -> {{.*}} per run (1.{{[01][0-9]}}x)
// RUN: gantry explain %t.gantry | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: constraint: over the limit: GPU:0: 1 value of 256 KiB waits on the host for its next use
// RUN: gantry explain %t.gantry --all | FileCheck %s --check-prefix=COPIES
// COPIES-COUNT-2: the memory limit
// RUN: gantry run %s --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy
// RUN: gantry run %t.gantry --fill ramp --sim-order=random:7 --output y=%t.3.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: cmp %t.1.npy %t.3.npy
func.func @main(%x: tensor<256x256xf32> {gantry.name = "x"}) -> (tensor<256x256xf32> {gantry.name = "y"}) {
  %w = gantry.constant dense<0.01> : tensor<256x256xf32>
  %z = gantry.matmul %w, %x : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  %t = gantry.concat %z, %z {axis = 1 : i64} : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x512xf32>
  %t0 = gantry.matmul %w, %t : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t1 = gantry.matmul %w, %t0 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t2 = gantry.matmul %w, %t1 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t3 = gantry.matmul %w, %t2 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t4 = gantry.matmul %w, %t3 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t5 = gantry.matmul %w, %t4 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t6 = gantry.matmul %w, %t5 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t7 = gantry.matmul %w, %t6 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t8 = gantry.matmul %w, %t7 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t9 = gantry.matmul %w, %t8 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t10 = gantry.matmul %w, %t9 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t11 = gantry.matmul %w, %t10 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t12 = gantry.matmul %w, %t11 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t13 = gantry.matmul %w, %t12 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t14 = gantry.matmul %w, %t13 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t15 = gantry.matmul %w, %t14 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t16 = gantry.matmul %w, %t15 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t17 = gantry.matmul %w, %t16 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t18 = gantry.matmul %w, %t17 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t19 = gantry.matmul %w, %t18 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t20 = gantry.matmul %w, %t19 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t21 = gantry.matmul %w, %t20 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t22 = gantry.matmul %w, %t21 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %t23 = gantry.matmul %w, %t22 : (tensor<256x256xf32>, tensor<256x512xf32>) -> tensor<256x512xf32>
  %s = gantry.slice %t23 {sizes = array<i64: 256, 256>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<256x512xf32>) -> tensor<256x256xf32>
  %y = gantry.mul %s, %z : (tensor<256x256xf32>, tensor<256x256xf32>) -> tensor<256x256xf32>
  return %y : tensor<256x256xf32>
}
