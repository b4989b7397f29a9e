// RUN: gantry-opt %s --gantry-expand-gradients | FileCheck %s

// The regions yield what their ways back read; what has one type shares a result.
// CHECK-LABEL: @branch(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Y:[^:]*]]: tensor<4xf32>, %[[C:[^:]*]]: tensor<i1>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]]:2 = gantry.if %[[C]] -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK: %[[V2:.*]] = gantry.exp %[[X]]
// CHECK: gantry.yield %[[V2]], %[[V2]]
// CHECK: } else {
// CHECK: %[[V3:.*]] = gantry.tanh %[[Y]]
// CHECK: gantry.yield %[[V3]], %[[V3]]
// CHECK: }
// CHECK: %[[V4:.*]]:2 = gantry.if %[[C]] -> (tensor<4xf32>, tensor<4xf32>) {
// CHECK: %[[V5:.*]] = gantry.mul %[[S]], %[[V1]]#1
// CHECK: %[[V6:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V7:.*]] = gantry.broadcast %[[V6]]{{.*}} -> tensor<4xf32>
// CHECK: gantry.yield %[[V5]], %[[V7]]
// CHECK: } else {
// CHECK: %[[V8:.*]] = gantry.mul %[[V1]]#1, %[[V1]]#1
// CHECK: %[[V9:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V10:.*]] = gantry.sub %[[V9]], %[[V8]]
// CHECK: %[[V11:.*]] = gantry.mul %[[S]], %[[V10]]
// CHECK: %[[V12:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V13:.*]] = gantry.broadcast %[[V12]]{{.*}} -> tensor<4xf32>
// CHECK: gantry.yield %[[V13]], %[[V11]]
// CHECK: }
// CHECK: return %[[V4]]#0, %[[V4]]#1
func.func @branch(%x: tensor<4xf32>, %y: tensor<4xf32>, %c: tensor<i1>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:3 = gantry.gradient (%x, %y, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1 = gantry.if %c -> (tensor<4xf32>) {
      %2 = gantry.exp %a : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %2 : tensor<4xf32>
    } else {
      %2 = gantry.tanh %b : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %2 : tensor<4xf32>
    } : tensor<i1>
    gantry.yield %1 : tensor<4xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}

// A row is kept of each round, and the way back reads them from the last to the first; what comes from outside is added up.
// CHECK-LABEL: @loop(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[W:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.constant dense<0> : tensor<i64>
// CHECK: %[[V2:.*]] = gantry.constant dense<1> : tensor<i64>
// CHECK: %[[V3:.*]] = gantry.constant dense<3> : tensor<i64>
// CHECK: %[[V4:.*]] = gantry.constant dense<0> : tensor<i64>
// CHECK: %[[V5:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V6:.*]] = gantry.broadcast %[[V5]]{{.*}} -> tensor<3x4xf32>
// CHECK: %[[V7:.*]]:4 = gantry.while(%[[V1]], %[[X]], %[[V4]], %[[V6]]) : (tensor<i64>, tensor<4xf32>, tensor<i64>, tensor<3x4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<i64>, tensor<3x4xf32>) {
// CHECK: ^bb0(%[[A9_0:[^:]*]]: tensor<i64>, %[[A9_1:[^:]*]]: tensor<4xf32>, %[[A9_2:[^:]*]]: tensor<i64>, %[[A9_3:[^:]*]]: tensor<3x4xf32>):
// CHECK: %[[V8:.*]] = gantry.compare {{ *}}lt, %[[A9_0]], %[[V3]]
// CHECK: gantry.yield %[[V8]]
// CHECK: } do {
// CHECK: ^bb0(%[[A13_0:[^:]*]]: tensor<i64>, %[[A13_1:[^:]*]]: tensor<4xf32>, %[[A13_2:[^:]*]]: tensor<i64>, %[[A13_3:[^:]*]]: tensor<3x4xf32>):
// CHECK: %[[V9:.*]] = gantry.mul %[[A13_1]], %[[W]] {gantry.name = "step"}
// CHECK: %[[V10:.*]] = gantry.add %[[A13_0]], %[[V2]]
// CHECK: %[[V11:.*]] = gantry.constant dense<1> : tensor<i64>
// CHECK: %[[V12:.*]] = gantry.add %[[A13_2]], %[[V11]]
// CHECK: %[[V13:.*]] = gantry.set_slice %[[A13_3]], %[[A13_1]], %[[A13_2]] {axis = 0 : i64}
// CHECK: gantry.yield %[[V10]], %[[V9]], %[[V12]], %[[V13]]
// CHECK: }
// CHECK: %[[V14:.*]] = gantry.constant dense<2> : tensor<i64>
// CHECK: %[[V15:.*]] = gantry.constant dense<0.000000e+00> : tensor<f32>
// CHECK: %[[V16:.*]] = gantry.broadcast %[[V15]]{{.*}} -> tensor<4xf32>
// CHECK: %[[V17:.*]]:4 = gantry.while(%[[V14]], %[[S]], %[[V14]], %[[V16]]) at_most 3 : (tensor<i64>, tensor<4xf32>, tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<i64>, tensor<4xf32>) {
// CHECK: ^bb0(%[[A25_0:[^:]*]]: tensor<i64>, %[[A25_1:[^:]*]]: tensor<4xf32>, %[[A25_2:[^:]*]]: tensor<i64>, %[[A25_3:[^:]*]]: tensor<4xf32>):
// CHECK: %[[V18:.*]] = gantry.constant dense<0> : tensor<i64>
// CHECK: %[[V19:.*]] = gantry.compare {{ *}}ge, %[[A25_0]], %[[V18]]
// CHECK: gantry.yield %[[V19]]
// CHECK: } do {
// CHECK: ^bb0(%[[A30_0:[^:]*]]: tensor<i64>, %[[A30_1:[^:]*]]: tensor<4xf32>, %[[A30_2:[^:]*]]: tensor<i64>, %[[A30_3:[^:]*]]: tensor<4xf32>):
// CHECK: %[[V20:.*]] = gantry.sub %[[A30_0]], %{{.*}}
// CHECK: %[[V21:.*]] = gantry.sub %[[A30_2]], %{{.*}}
// CHECK: %[[V22:.*]] = gantry.gather %[[V7]]#3, %[[A30_2]] {axis = 0 : i64}
// CHECK: %[[V23:.*]] = gantry.mul %[[A30_1]], %[[W]] {gantry.name = "step/grad_lhs"}
// CHECK: %[[V24:.*]] = gantry.mul %[[A30_1]], %[[V22]] {gantry.name = "step/grad_rhs"}
// CHECK: %[[V25:.*]] = gantry.add %[[A30_3]], %[[V24]]
// CHECK: gantry.yield %[[V20]], %[[V23]], %[[V21]], %[[V25]]
// CHECK: } {gantry.bounded}
// CHECK: return %[[V17]]#1, %[[V17]]#3
func.func @loop(%x: tensor<4xf32>, %w: tensor<4xf32>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %three = gantry.constant dense<3> : tensor<i64>
  %0:3 = gantry.gradient (%x, %w, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1:2 = gantry.while (%zero, %a) : (tensor<i64>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>) {
    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
      %c = gantry.compare lt, %i, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>):
      %2 = gantry.mul %v, %b {gantry.name = "step"} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %3, %2 : tensor<i64>, tensor<4xf32>
    }
    gantry.yield %1#1 : tensor<4xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<4xf32>
}

// What is inside of a checkpoint is computed again, under a mark that keeps it apart.
// CHECK-LABEL: @checkpoint(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.exp %[[X]] {gantry.name = "e"}
// CHECK: %[[V2:.*]] = gantry.sin %[[V1]] {gantry.name = "s"}
// CHECK: %[[V3:.*]] = gantry.exp %[[X]] {gantry.again = 1 : i64, gantry.name = "e/again"}
// CHECK: %[[V4:.*]] = gantry.sin %[[V3]] {gantry.again = 1 : i64, gantry.name = "s/again"}
// CHECK: %[[V5:.*]] = gantry.cos %[[V3]] {gantry.name = "s/again/grad"}
// CHECK: %[[V6:.*]] = gantry.mul %[[S]], %[[V5]] {gantry.name = "s/again/grad"}
// CHECK: %[[V7:.*]] = gantry.mul %[[V6]], %[[V3]] {gantry.name = "e/again/grad"}
// CHECK: return %[[V7]]
func.func @checkpoint(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %1 = gantry.checkpoint -> (tensor<4xf32>) {
      %2 = gantry.exp %a {gantry.name = "e"} : (tensor<4xf32>) -> tensor<4xf32>
      %3 = gantry.sin %2 {gantry.name = "s"} : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %3 : tensor<4xf32>
    }
    gantry.yield %1 : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// The second region is the way back.
// CHECK-LABEL: @custom(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.round %[[X]]
// CHECK: %[[V2:.*]] = gantry.mul %[[S]], %[[V1]]
// CHECK: return %[[V2]]
func.func @custom(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %1 = gantry.custom_gradient (%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %2 = gantry.round %b : (tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %2 : tensor<4xf32>
    } backward {
    ^bb0(%b: tensor<4xf32>, %y: tensor<4xf32>, %d: tensor<4xf32>):
      %2 = gantry.mul %d, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      gantry.yield %2 : tensor<4xf32>
    }
    gantry.yield %1 : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// A constant where it is differentiated, the operand elsewhere.
// CHECK-LABEL: @stopped(
// CHECK-SAME: %[[X:[^:]*]]: tensor<f32>
// CHECK: %[[V1:.*]] = gantry.mul %[[X]], %[[X]]
// CHECK: %[[V2:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[V3:.*]] = gantry.mul %[[V2]], %[[X]]
// CHECK: return %[[V3]]
func.func @stopped(%x: tensor<f32>) -> tensor<f32> {
  %0:2 = gantry.gradient (%x) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<f32>):
    %1 = gantry.stop_gradient %a : tensor<f32>
    %2 = gantry.mul %1, %a : (tensor<f32>, tensor<f32>) -> tensor<f32>
    gantry.yield %2 : tensor<f32>
  }
  return %0#1 : tensor<f32>
}

// Where nothing is differentiated regions are their ops.
// CHECK-LABEL: @outside_of_gradients(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.exp %[[X]]
// CHECK: return %[[V1]]
func.func @outside_of_gradients(%x: tensor<4xf32>) -> tensor<4xf32> {
  %1 = gantry.checkpoint -> (tensor<4xf32>) {
    %2 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %2 : tensor<4xf32>
  }
  %3 = gantry.stop_gradient %1 : tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Back to where the operand is.
// CHECK-LABEL: @copy(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>{{.*}}, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = gantry.copy %[[X]] to "GPU:0"
// CHECK: %[[V2:.*]] = gantry.copy %[[S]] to "CPU:0"
// CHECK: return %[[V2]]
func.func @copy(%x: tensor<4xf32> {gantry.device = #gantry.device<"CPU:0">}, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %1 = gantry.copy %a to "GPU:0" : tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// Each operand is in every result; of a mean it has its share.
// CHECK-LABEL: @collective(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[Y:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>, %[[T:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]]:2 = gantry.all_reduce mean %[[X]], %[[Y]] on ["GPU:0", "GPU:1"] weights [3, 1]
// CHECK: %[[V2:.*]]:2 = gantry.all_reduce sum %[[S]], %[[T]] on ["GPU:0", "GPU:1"]
// CHECK: %[[V3:.*]] = gantry.constant dense<7.500000e-01> : tensor<f32>
// CHECK: %[[V4:.*]] = gantry.mul %[[V2]]#0, %[[V3]]
// CHECK: %[[V5:.*]] = gantry.constant dense<2.500000e-01> : tensor<f32>
// CHECK: %[[V6:.*]] = gantry.mul %[[V2]]#1, %[[V5]]
// CHECK: return %[[V4]], %[[V6]]
func.func @collective(%x: tensor<4xf32>, %y: tensor<4xf32>, %s: tensor<4xf32>, %t: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:4 = gantry.gradient (%x, %y, %s, %t) seeds 2 : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %1:2 = gantry.all_reduce mean %a, %b on ["GPU:0", "GPU:1"] weights [3, 1] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    gantry.yield %1#0, %1#1 : tensor<4xf32>, tensor<4xf32>
  }
  return %0#2, %0#3 : tensor<4xf32>, tensor<4xf32>
}

// Ops of other dialects have rules, too.
// CHECK-LABEL: @foreign(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[V1:.*]] = tosa.add %[[X]], %[[X]]
// CHECK: %[[V2:.*]] = gantry.add %[[S]], %[[S]]
// CHECK: return %[[V2]]
func.func @foreign(%x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
  %0:2 = gantry.gradient (%x, %s) seeds 1 : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %1 = tosa.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %1 : tensor<4xf32>
  }
  return %0#1 : tensor<4xf32>
}

// Of a loop that is only bounded the way back begins with the last round that there was. What a round reads of outside by a counter is
// read again, the counter counts back, and the row that was read gets its part of the sum in place. What is carried and stays is read where
// it came from.
// CHECK-LABEL: @bounded(
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32>, %[[ROWS:[^:]*]]: tensor<9x4xf32>, %[[N:[^:]*]]: tensor<i64>, %[[S:[^:]*]]: tensor<4xf32>
// CHECK: %[[THERE:.*]]:5 = gantry.while({{.*}}) at_most 9 : (tensor<i64>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<9x4xf32>)
// CHECK: } {gantry.name = "scan"}
// CHECK: %[[LAST:.*]] = gantry.sub %[[THERE]]#3, %{{.*}} : (tensor<i64>, tensor<i64>)
// CHECK: %[[INDEX:.*]] = gantry.sub %[[THERE]]#0, %{{.*}} : (tensor<i64>, tensor<i64>)
// CHECK: %[[BACK:.*]]:5 = gantry.while(%[[LAST]], %[[S]], %[[LAST]], %[[INDEX]], %{{.*}}) at_most 9 :
// CHECK: } do {
// CHECK: ^bb0(%{{[^:]*}}: tensor<i64>, %[[D:[^:]*]]: tensor<4xf32>, %[[POSITION:[^:]*]]: tensor<i64>, %[[I:[^:]*]]: tensor<i64>, %[[SUM:[^:]*]]: tensor<9x4xf32>):
// CHECK: %[[V:.*]] = gantry.gather %[[THERE]]#4, %[[POSITION]] {axis = 0 : i64
// CHECK: %[[ROW:.*]] = gantry.gather %[[ROWS]], %[[I]] {axis = 0 : i64, gantry.name = "row/again"}
// CHECK: %[[OLD:.*]] = gantry.gather %[[SUM]], %[[I]] {axis = 0 : i64
// CHECK: %[[NEW:.*]] = gantry.add %[[OLD]], %{{.*}}
// CHECK: gantry.set_slice %[[SUM]], %[[NEW]], %[[I]] {axis = 0 : i64
// CHECK: } {gantry.bounded}
func.func @bounded(%x: tensor<4xf32>, %rows: tensor<9x4xf32>, %n: tensor<i64>, %s: tensor<4xf32>) -> (tensor<4xf32>, tensor<9x4xf32>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %0:3 = gantry.gradient (%x, %rows, %s) seeds 1 : (tensor<4xf32>, tensor<9x4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<9x4xf32>) {
  ^bb0(%a: tensor<4xf32>, %b: tensor<9x4xf32>):
    %1:3 = gantry.while (%zero, %a, %s) at_most 9 : (tensor<i64>, tensor<4xf32>, tensor<4xf32>) -> (tensor<i64>, tensor<4xf32>, tensor<4xf32>) {
    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %k: tensor<4xf32>):
      %c = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %v: tensor<4xf32>, %k: tensor<4xf32>):
      %row = gantry.gather %b, %i {axis = 0 : i64, gantry.name = "row"} : (tensor<9x4xf32>, tensor<i64>) -> tensor<4xf32>
      %2 = gantry.mul %v, %row : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %3 = gantry.mul %2, %k : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      %4 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %4, %3, %k : tensor<i64>, tensor<4xf32>, tensor<4xf32>
    } {gantry.name = "scan"}
    gantry.yield %1#1 : tensor<4xf32>
  }
  return %0#1, %0#2 : tensor<4xf32>, tensor<9x4xf32>
}

// A weight that products of all rounds read turned is turned once, in front of the loop back.
// CHECK-LABEL: @turned(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x4xf32>, %[[W:[^:]*]]: tensor<4x4xf32>
// CHECK: } {gantry.name = "steps"}
// CHECK: %[[T:.*]] = gantry.transpose %[[W]] {gantry.name = "steps/grad", permutation = array<i64: 1, 0>}
// CHECK: gantry.while({{.*}}) at_most 3 :
// CHECK: } do {
// CHECK: gantry.matmul %{{.*}}, %[[T]] {gantry.name = "product/grad_lhs"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
// CHECK: gantry.matmul %{{.*}}, %{{.*}} {gantry.name = "product/grad_rhs", transpose_a}
func.func @turned(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>) -> (tensor<2x4xf32>, tensor<4x4xf32>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %three = gantry.constant dense<3> : tensor<i64>
  %0:3 = gantry.gradient (%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> (tensor<f32>, tensor<2x4xf32>, tensor<4x4xf32>) {
  ^bb0(%a: tensor<2x4xf32>, %b: tensor<4x4xf32>):
    %1:2 = gantry.while (%zero, %a) : (tensor<i64>, tensor<2x4xf32>) -> (tensor<i64>, tensor<2x4xf32>) {
    ^bb0(%i: tensor<i64>, %v: tensor<2x4xf32>):
      %c = gantry.compare lt, %i, %three : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %v: tensor<2x4xf32>):
      %2 = gantry.matmul %v, %b {gantry.name = "product"} : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
      %3 = gantry.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %3, %2 : tensor<i64>, tensor<2x4xf32>
    } {gantry.name = "steps"}
    %4 = gantry.reduce_sum %1#1 {axes = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
    gantry.yield %4 : tensor<f32>
  }
  return %0#1, %0#2 : tensor<2x4xf32>, tensor<4x4xf32>
}
