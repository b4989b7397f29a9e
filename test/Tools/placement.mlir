// What the tool says about placement and copies, from a graph on.

// The log, line by line: copies where they happen, names in full, a summary.
// RUN: gantry run %s --devices=CPU:0,GPU:0,GPU:1 --simulate --fill ramp --log-device-placement 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LOG
// LOG:      Copying 24 bytes from /job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0
// LOG-NEXT: Copying 24 bytes from /job:localhost/replica:0/task:0/device:CPU:0 to /job:localhost/replica:0/task:0/device:GPU:0
// LOG-NEXT: Executing op MatMul in device /job:localhost/replica:0/task:0/device:GPU:0
// LOG-NEXT: Copying 16 bytes from /job:localhost/replica:0/task:0/device:GPU:0 to /job:localhost/replica:0/task:0/device:GPU:1
// LOG-NEXT: Executing op AddV2 in device /job:localhost/replica:0/task:0/device:GPU:1
// LOG-NEXT: Copying 16 bytes from /job:localhost/replica:0/task:0/device:GPU:1 to /job:localhost/replica:0/task:0/device:CPU:0
// LOG-NEXT: placed 2 ops: GPU:0 1, GPU:1 1; 0 fall-backs; 4 copies per run in 3 transfers, 80 bytes (h2d 2, d2h 1, d2d 1); 0 at load
// LOG:      output0: f32[2,2] on CPU:0

// Why: first a page, then each op with the request and its place, and the copy with the use that caused it.
// RUN: gantry explain %s --devices=CPU:0,GPU:0,GPU:1 --simulate | FileCheck %s --check-prefix=PAGE
// PAGE: predicted {{.*}} per run
// PAGE: GPU:1 (sim) 1
// PAGE: 1 GPU:0 default: GPUs before CPUs, then the lowest id MatMul/output0.0
// PAGE: 1 GPU:1 requested: asked for at placement.mlir:
// PAGE: 2 kernels, 2 launches for 2 ops
// PAGE: every run d2d GPU:0 GPU:1 1 16 bytes
// RUN: env COLUMNS=140 gantry explain %s --devices=CPU:0,GPU:0,GPU:1 --simulate --all | FileCheck %s --check-prefix=WHY
// WHY: ops
// WHY: MatMul {{.*}} GPU:0   default: GPUs before CPUs, then the lowest id
// WHY: AddV2 {{.*}} GPU:1   requested: asked for at placement.mlir:
// WHY: copies
// WHY: every run  d2d   GPU:0  GPU:1     16

func.func @main(%a: tensor<2x3xf32>, %b: tensor<3x2xf32>) -> tensor<2x2xf32> {
  %0 = gantry.matmul %a, %b : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<2x2xf32>
  %1 = gantry.add %0, %0 {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}
