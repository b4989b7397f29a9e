// What is computed at load takes room beside what runs: over the limit it is computed in each run, which is the
// cheapest that helps, with the same bits.
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@120KiB --simulate -o %t.gantry; test \$? = 3" 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: the plan needs 160 KiB on '/job:localhost/replica:0/task:0/device:GPU:0', the limit is 120 KiB
// RUN: gantry compile %s --devices=CPU:0,GPU:0@120KiB --simulate --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: over the limit: what depends on constants alone is computed in each run: saves 64 KiB, adds {{.*}} per run; predicted {{.*}} -> {{.*}} per run ({{.*}}x)
// RUN: gantry run %s --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy
// RUN: cmp %t.1.npy %t.2.npy

#gpu = #gantry.device<"GPU:0">
func.func @main(%x: tensor<64x64xf32> {gantry.name = "x", gantry.device = #gpu})
    -> (tensor<64x64xf32> {gantry.name = "y", gantry.device = #gpu}) {
  %w = gantry.constant dense<0.01> : tensor<64x64xf32>
  %a = gantry.random_uniform {seed = 1 : i64, low = -1.0 : f64, high = 1.0 : f64} : () -> tensor<64x64xf32>
  %b = gantry.random_uniform {seed = 2 : i64, low = -1.0 : f64, high = 1.0 : f64} : () -> tensor<64x64xf32>
  %c = gantry.random_uniform {seed = 3 : i64, low = -1.0 : f64, high = 1.0 : f64} : () -> tensor<64x64xf32>
  %d = gantry.random_uniform {seed = 4 : i64, low = -1.0 : f64, high = 1.0 : f64} : () -> tensor<64x64xf32>
  %e = gantry.random_uniform {seed = 5 : i64, low = -1.0 : f64, high = 1.0 : f64} : () -> tensor<64x64xf32>
  %0 = gantry.matmul %x, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = gantry.matmul %0, %a : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = gantry.matmul %1, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %3 = gantry.matmul %2, %c : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %4 = gantry.matmul %3, %d : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = gantry.matmul %4, %e : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
