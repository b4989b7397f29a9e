// The plan dialect: every op prints what it was read from, as text and as bytecode.

// RUN: gantry-opt %s | gantry-opt | FileCheck %s
// RUN: gantry-opt %s --emit-bytecode | gantry-opt | FileCheck %s

// CHECK: plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
// CHECK: plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 limit 1073741824 flops 1.000000e+13 bandwidth 5.000000e+11
plan.device @d1 "/job:localhost/replica:0/task:0/device:GPU:0" on "sim" physical 1 limit 1073741824 flops 1.0e+13 bandwidth 5.0e+11
// CHECK: plan.device @d2 "/job:localhost/replica:0/task:0/device:GPU:1" on "cuda" also ["sim"] physical 1
plan.device @d2 "/job:localhost/replica:0/task:0/device:GPU:1" on "cuda" also ["sim"] physical 1
// CHECK: plan.link @d0 to @d1 bandwidth 1.600000e+10 latency 1.000000e-05
plan.link @d0 to @d1 bandwidth 1.6e+10 latency 1.0e-5

// Arenas of the three kinds.
// CHECK: plan.arena @constants_d0 constants on @d0 size 128 lower_bound 128
// CHECK: plan.arena @variables_d0 variables on @d0 size 0 lower_bound 0
// CHECK: plan.arena @transient_d0 transient on @d0 size 4096 lower_bound 4000
plan.arena @constants_d0 constants on @d0 size 128 lower_bound 128
plan.arena @variables_d0 variables on @d0 size 0 lower_bound 0
plan.arena @transient_d0 transient on @d0 size 4096 lower_bound 4000

// A constant with its value, and one as it is read from a file.
// CHECK: plan.constant @c0 "weight" on @d0 offset 0 size 8 : tensor<2xf32> = dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: plan.constant @c1 "bias" on @d0 in @constants_d0 offset 64 size 16 : tensor<4xf32>
plan.constant @c0 "weight" on @d0 offset 0 size 8 : tensor<2xf32> = dense<[1.0, 2.0]> : tensor<2xf32>
plan.constant @c1 "bias" on @d0 in @constants_d0 offset 64 size 16 : tensor<4xf32>

// A constant that the graph wants elsewhere: a copy at load.
// CHECK: plan.constant @c2 "weight" on @d1 home @d0 for "fc1" offset 0 size 8 : tensor<2xf32>
plan.constant @c2 "weight" on @d1 home @d0 for "fc1" offset 0 size 8 : tensor<2xf32>

// CHECK: plan.kernel @matmul_0 items 16 grain 2 scratch 4096{{$}}
plan.kernel @matmul_0 items 16 grain 2 scratch 4096

// Code of a machine, and a kernel with the ways to run it.
// CHECK: plan.code @code0 elf for "x86-64" needs ["avx2", "fma"] size 4096
// CHECK: plan.code @code1 ptx for "sm_75" size 512
plan.code @code0 elf for "x86-64" needs ["avx2", "fma"] size 4096
plan.code @code1 ptx for "sm_75" size 512
// CHECK: plan.kernel @relu_0 items 1 grain 1 scratch 0 variants [
// CHECK-SAME: #plan.variant<"host", code = @code0, features = ["avx512f"]>,
// CHECK-SAME: #plan.variant<"cuda", library = "cublasLt", version = "12.0", symbol = "matmul", scratch = 4194304>,
// CHECK-SAME: #plan.variant<"cuda", code = @code1, symbol = "relu_v4", arch = [75, 0], items = 8, grain = 2, grid = [64, 1, 1], block = [256, 1, 1], shared = 1024>,
// CHECK-SAME: #plan.variant<"host", registered = true>]
plan.kernel @relu_0 items 1 grain 1 scratch 0 variants [
    #plan.variant<"host", code = @code0, features = ["avx512f"]>,
    #plan.variant<"cuda", library = "cublasLt", version = "12.0", symbol = "matmul", scratch = 4194304>,
    #plan.variant<"cuda", code = @code1, symbol = "relu_v4", arch = [75, 0], items = 8, grain = 2, grid = [64, 1, 1], block = [256, 1, 1], shared = 1024>,
    #plan.variant<"host", registered = true>]

// CHECK-LABEL: plan.func @main
// CHECK-SAME: inputs [#plan.binding<"x" : tensor<4xf32> on @d0>]
// CHECK-SAME: outputs [#plan.binding<"y" : tensor<4xf32> on @d0>]
// CHECK-SAME: placed [#plan.placed<"MatMul" on @d0 in @matmul_0, name = "fc1", rule = "requested", reason = "asked for", rejected = ["GPU:7: unknown device"], fall_back = true, predicted_seconds = 1.562500e-02 : f64>, #plan.placed<"Relu" on @d0 in @matmul_0>]
plan.func @main inputs [#plan.binding<"x" : tensor<4xf32> on @d0>]
    outputs [#plan.binding<"y" : tensor<4xf32> on @d0>]
    placed [#plan.placed<"MatMul" on @d0 in @matmul_0, name = "fc1", rule = "requested", reason = "asked for",
            rejected = ["GPU:7: unknown device"], fall_back = true, predicted_seconds = 0.015625 : f64>,
            #plan.placed<"Relu" on @d0 in @matmul_0>] {
  // CHECK: %[[X:.*]] = plan.input 0 size 16
  %x = plan.input 0 size 16
  // CHECK: %[[Y:.*]] = plan.output 0 size 16
  %y = plan.output 0 size 16
  // CHECK: %[[W:.*]] = plan.use @c0 size 8
  %w = plan.use @c0 size 8
  // A buffer before Memory, and after it.
  // CHECK: %[[T:.*]] = plan.buffer size 16 on @d0 "hidden" : tensor<4xf32>
  %t = plan.buffer size 16 on @d0 "hidden" : tensor<4xf32>
  // CHECK: %[[C:.*]] = plan.buffer size 1 on @d0 in @transient_d0 at 64 "flag" : tensor<i1>
  %c = plan.buffer size 1 on @d0 in @transient_d0 at 64 "flag" : tensor<i1>
  // CHECK: %[[S:.*]] = plan.buffer size 4096
  %s = plan.buffer size 4096 on @d0 "scratch" : tensor<4096xi8>

  // CHECK: plan.launch @matmul_0(%[[X]], %[[W]]) -> (%[[T]]) scratch %[[S]] items 16 grain 2 on @d0 "fc1" ["MatMul", "Relu"] at "graph.mlir:3:8"
  plan.launch @matmul_0(%x, %w) -> (%t) scratch %s items 16 grain 2 on @d0 "fc1" ["MatMul", "Relu"] at "graph.mlir:3:8"
  // CHECK: plan.launch @matmul_0() -> (%[[T]], %[[C]]) items 1 grain 1 flops 12 bytes 34 on @d0 "" [] at ""
  plan.launch @matmul_0() -> (%t, %c) items 1 grain 1 flops 12 bytes 34 on @d0 "" [] at ""

  // Queues come together by signals and waits.
  // CHECK: plan.copy %[[X]] to %[[T]] on @d1 queue 1 for "fc1" "x" at ""
  // CHECK-NEXT: plan.signal 0 on @d1 queue 1
  // CHECK-NEXT: plan.wait 0 on @d1
  plan.copy %x to %t on @d1 queue 1 for "fc1" "x" at ""
  plan.signal 0 on @d1 queue 1
  plan.wait 0 on @d1

  // A check of indices, and what is not written before it.
  // CHECK: plan.check %[[S]] held(%[[T]], %[[C]]) of "ids" shape [2, 3] sizes [9] on @d0 "embedding" is "Gather" at "model.onnx"
  // CHECK: plan.check %[[S]] of "i" shape [] sizes [4, 5] on @d0 "pick" is "GatherND" at ""
  plan.check %s held (%t, %c) of "ids" shape [2, 3] sizes [9] on @d0 "embedding" is "Gather" at "model.onnx"
  plan.check %s of "i" shape [] sizes [4, 5] on @d0 "pick" is "GatherND" at ""
  // CHECK: plan.check %[[S]] of "rounds" shape [] sizes [8] on @d0 "loop" is "While" at "" says "goes on"
  plan.check %s of "rounds" shape [] sizes [8] on @d0 "loop" is "While" at "" says "goes on"

  // CHECK: plan.if %[[C]] {
  // CHECK-NEXT: plan.copy %[[X]] to %[[Y]] on @d0 "y" at "graph.mlir:4:3"
  // Several values in one transfer.
  // CHECK-NEXT: plan.copy %[[X]], %[[X]] to %[[T]], %[[Y]] on @d0 for "fc1" "x" at "" also [#plan.copied<"y" at "graph.mlir:4:3" for "fc2">]
  // CHECK-NEXT: } else {
  // CHECK-NEXT: plan.copy %[[T]] to %[[Y]] on @d0 "y" at "graph.mlir:4:3"
  // CHECK-NEXT: }
  plan.if %c {
    plan.copy %x to %y on @d0 "y" at "graph.mlir:4:3"
    plan.copy %x, %x to %t, %y on @d0 for "fc1" "x" at "" also [#plan.copied<"y" at "graph.mlir:4:3" for "fc2">]
  } else {
    plan.copy %t to %y on @d0 "y" at "graph.mlir:4:3"
  }

  // CHECK: plan.while %[[C]] {
  // CHECK: } do {
  // CHECK: plan.copy
  plan.while %c {
  } do {
    plan.copy %t to %y on @d0 "y" at ""
  }
}
