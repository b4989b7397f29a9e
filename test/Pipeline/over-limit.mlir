// What does not fit fits with weights that stay on the host, with the same bits.
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@100KiB --simulate -o %t.gantry; test \$? = 3"
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@100KiB --simulate --over-limit=error -o %t.gantry; test \$? = 3" 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: the plan needs 128 KiB on '/job:localhost/replica:0/task:0/device:GPU:0', the limit is 100 KiB
// RUN: gantry compile %s --devices=CPU:0,GPU:0@100KiB --simulate --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK-NOT: error
// CHECK: remark: over the limit: GPU:0: {{[0-9]+}} weights of {{[0-9]+}} KiB in all stay on the host and are copied to the device in each run: saves {{[0-9.]+}} KiB, adds {{[0-9.]+}} µs per run; predicted {{.*}} -> {{.*}} per run ({{.*}}x)
// RUN: gantry explain %t.gantry | FileCheck %s --check-prefix=EXPLAIN
// EXPLAIN: constraint: over the limit: GPU:0: {{[0-9]+}} weights of {{[0-9]+}} KiB in all stay on the host

// RUN: gantry run %s --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy
// RUN: gantry run %t.gantry --fill ramp --sim-order=random:7 --output y=%t.3.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: cmp %t.1.npy %t.3.npy

// Nothing is done where there is room, and the first error stands where nothing helps.
// RUN: gantry compile %s --devices=CPU:0,GPU:0@128KiB --simulate --over-limit=fix -o %t.gantry 2>&1 | count 0
// RUN: bash -c "gantry compile %s --devices=CPU:0,GPU:0@40KiB --simulate --over-limit=fix -o %t.gantry; test \$? = 3" 2>&1 | FileCheck %s --check-prefix=REFUSED
// REFUSED: the plan needs 128 KiB on '/job:localhost/replica:0/task:0/device:GPU:0', the limit is 40 KiB: {{.*}}; raise the limit to at least 131072 bytes, put less on this device or make the batch smaller (--largest-batch=DIM finds the largest that fits){{$}}
// REFUSED: note: {{.*}}over-limit.mlir:{{.*}}: the smallest plan that --over-limit=fix can make needs 48 KiB, and 'MatMul/y.0.0.0.0.0' alone takes 48 KiB: it reads {{.*}} (16 KiB), {{.*}}writes {{.*}} (16 KiB)

// RUN: not gantry compile %s --over-limit=mend -o %t.gantry 2>&1 | FileCheck %s --check-prefix=WORD
// WORD: error: --over-limit: expected one of error, fix, got 'mend'
#gpu = #gantry.device<"GPU:0">
func.func @main(%x: tensor<64x64xf32> {gantry.name = "x"}) -> (tensor<64x64xf32> {gantry.name = "y"}) {
  %w0 = gantry.constant dense<0.01> : tensor<64x64xf32>
  %w1 = gantry.constant dense<0.02> : tensor<64x64xf32>
  %w2 = gantry.constant dense<0.03> : tensor<64x64xf32>
  %w3 = gantry.constant dense<0.04> : tensor<64x64xf32>
  %w4 = gantry.constant dense<0.05> : tensor<64x64xf32>
  %w5 = gantry.constant dense<0.06> : tensor<64x64xf32>
  %a = gantry.matmul %x, %w0 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = gantry.matmul %a, %w1 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %c = gantry.matmul %b, %w2 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %d = gantry.matmul %c, %w3 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %e = gantry.matmul %d, %w4 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = gantry.matmul %e, %w5 {gantry.device = #gpu} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}
