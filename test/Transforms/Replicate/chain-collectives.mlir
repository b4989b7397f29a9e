// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-replicas,gantry-expand-collectives))' | FileCheck %s --enable-var-scope --check-prefixes=CHECK,WHOLE
// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-replicas,gantry-expand-collectives{piece-bytes=200}))' | FileCheck %s --enable-var-scope --check-prefix=PIECES

// Over 64 ranks of several tasks add up one after the other, and the sum goes back the way it came:
// as many additions and copies as there are ranks. A range in a list is each of its devices.
// CHECK-LABEL: func.func @chain(
// WHOLE-NOT: gantry.slice {{.*}}chunk
// WHOLE: %[[S1:.*]] = gantry.add_n %[[V0:.*]], %{{.*}} {gantry.device = #gantry.device<"/job:w/task:1/device:CPU:0">, gantry.name = "g/sum_0/replica_1"{{.*}}}
// WHOLE: %[[S2:.*]] = gantry.add_n %[[S1]], %{{.*}} {gantry.device = #gantry.device<"/job:w/task:2/device:CPU:0">, gantry.name = "g/sum_0/replica_2"{{.*}}}
// WHOLE: %[[S64:.*]] = gantry.add_n %{{.*}}, %{{.*}} {{.*}} gantry.name = "g/sum_0/replica_64"{{.*}}}
// WHOLE: %[[M:.*]] = gantry.mul %[[S64]], %{{.*}} {gantry.device = #gantry.device<"/job:w/task:64/device:CPU:0">, gantry.name = "g/mean_0/replica_64"{{.*}}}
// WHOLE: %[[C63:.*]] = gantry.copy %[[M]] to "/job:w/task:63/device:CPU:0"
// WHOLE: %[[C62:.*]] = gantry.copy %[[C63]] to "/job:w/task:62/device:CPU:0"
// WHOLE-NOT: gantry.concat
// WHOLE: return

// PIECES-LABEL: func.func @chain(
// PIECES: gantry.slice {{.*}} gantry.name = "g/piece_0/replica_0", {{.*}}sizes = array<i64: 50>, starts = array<i64: 0>
// PIECES: gantry.add_n {{.*}} gantry.name = "g/sum_1/replica_64"
// PIECES: gantry.concat {{.*}} gantry.name = "g/join/replica_64"
func.func @chain(%x: tensor<65x100xf32>) -> tensor<100xf32> {
  %y = gantry.replicate (%x) on ["/job:w/task:{0..64}/CPU:0"] takes [split 0] gives [same]
      : (tensor<65x100xf32>) -> tensor<100xf32> {
  ^bb0(%a: tensor<?x100xf32>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?x100xf32>) -> tensor<100xf32>
    %r = gantry.all_reduce mean %s {gantry.name = "g"} : (tensor<100xf32>) -> tensor<100xf32>
    gantry.yield %r : tensor<100xf32>
  }
  return %y : tensor<100xf32>
}

// f16 is rounded once where one op adds all, so it is exchanged directly.
// CHECK-LABEL: func.func @half(
// CHECK-NOT: gantry.copy
// CHECK: return
func.func @half(%x: tensor<65x100xf16>) -> tensor<100xf16> {
  %y = gantry.replicate (%x) on ["/job:w/task:{0..64}/CPU:0"] takes [split 0] gives [same]
      : (tensor<65x100xf16>) -> tensor<100xf16> {
  ^bb0(%a: tensor<?x100xf16>):
    %s = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?x100xf16>) -> tensor<100xf16>
    %r = gantry.all_reduce sum %s {gantry.name = "g"} : (tensor<100xf16>) -> tensor<100xf16>
    gantry.yield %r : tensor<100xf16>
  }
  return %y : tensor<100xf16>
}
