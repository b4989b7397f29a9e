// RUN: gantry-opt %s --gantry-hoist-sums | FileCheck %s

// Rows are stacked as the rounds come, and one product of all of them takes the place of one in each round.
// CHECK-LABEL: @sum(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2x8xf32>, %[[D:[^:]*]]: tensor<2x6xf32>
// CHECK: %[[L:.*]]:4 = gantry.while(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) at_most 5 : (tensor<i64>, tensor<i64>, tensor<5x2x8xf32>, tensor<5x2x6xf32>)
// CHECK: } do {
// CHECK-NEXT: ^bb0(%[[I:[^:]*]]: tensor<i64>, %[[N:[^:]*]]: tensor<i64>, %[[XS:[^:]*]]: tensor<5x2x8xf32>, %[[DS:[^:]*]]: tensor<5x2x6xf32>):
// CHECK: %[[XI:.*]] = gantry.sin
// CHECK-NEXT: %[[DI:.*]] = gantry.cos
// CHECK-NOT: gantry.matmul
// CHECK: %[[XN:.*]] = gantry.set_slice %[[XS]], %[[XI]], %[[N]] {axis = 0 : i64}
// CHECK-NEXT: %[[DN:.*]] = gantry.set_slice %[[DS]], %[[DI]], %[[N]] {axis = 0 : i64}
// CHECK-NEXT: gantry.yield %{{.*}}, %{{.*}}, %[[XN]], %[[DN]]
// CHECK: %[[XA:.*]] = gantry.reshape %[[L]]#2 : (tensor<5x2x8xf32>) -> tensor<10x8xf32>
// CHECK-NEXT: %[[DA:.*]] = gantry.reshape %[[L]]#3 : (tensor<5x2x6xf32>) -> tensor<10x6xf32>
// CHECK-NEXT: %[[P:.*]] = gantry.matmul %[[XA]], %[[DA]] {gantry.name = "w/grad", transpose_a} : (tensor<10x8xf32>, tensor<10x6xf32>) -> tensor<8x6xf32>
// CHECK-NEXT: return %[[P]]
func.func @sum(%x: tensor<2x8xf32>, %d: tensor<2x6xf32>) -> tensor<8x6xf32> {
  %four = gantry.constant dense<4> : tensor<i64>
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %f = gantry.constant dense<0.0> : tensor<f32>
  %begin = gantry.broadcast %f : (tensor<f32>) -> tensor<8x6xf32>
  %0:2 = gantry.while (%four, %begin) at_most 5 : (tensor<i64>, tensor<8x6xf32>) -> (tensor<i64>, tensor<8x6xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<8x6xf32>):
    %c = gantry.compare ge, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %s: tensor<8x6xf32>):
    %a = gantry.sin %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %b = gantry.cos %d : (tensor<2x6xf32>) -> tensor<2x6xf32>
    %p = gantry.matmul %a, %b {transpose_a, gantry.name = "w/grad"} : (tensor<2x8xf32>, tensor<2x6xf32>) -> tensor<8x6xf32>
    %t = gantry.add %s, %p : (tensor<8x6xf32>, tensor<8x6xf32>) -> tensor<8x6xf32>
    %n = gantry.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %n, %t : tensor<i64>, tensor<8x6xf32>
  } {gantry.bounded}
  return %0#1 : tensor<8x6xf32>
}

// What the sum begins with is added; two products of the same rows have one stack of them. A loop that is bounded has as many rows.
// CHECK-LABEL: @two_sums(
// CHECK-SAME: %{{.*}}: tensor<2x8xf32>, %{{.*}}: tensor<2x8xf32>, %[[B:[^:]*]]: tensor<8x8xf32>
// CHECK: %[[L:.*]]:5 = gantry.while({{.*}}) at_most 3 : (tensor<i64>, tensor<i64>, tensor<3x2x8xf32>, tensor<3x2x8xf32>, tensor<3x2x8xf32>)
// CHECK-COUNT-3: gantry.set_slice
// CHECK-NOT: gantry.set_slice
// CHECK: %[[P:.*]] = gantry.matmul
// CHECK-NEXT: %[[S:.*]] = gantry.add %[[B]], %[[P]]
// CHECK: %[[Q:.*]] = gantry.matmul
// CHECK-NEXT: %[[T:.*]] = gantry.add %[[B]], %[[Q]]
// CHECK: return %[[S]], %[[T]]
func.func @two_sums(%x: tensor<2x8xf32>, %d: tensor<2x8xf32>, %begin: tensor<8x8xf32>, %m: tensor<i64>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %0:3 = gantry.while (%m, %begin, %begin) at_most 3 : (tensor<i64>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<i64>, tensor<8x8xf32>, tensor<8x8xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<8x8xf32>, %u: tensor<8x8xf32>):
    %c = gantry.compare ge, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %s: tensor<8x8xf32>, %u: tensor<8x8xf32>):
    %a = gantry.sin %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %b = gantry.cos %d : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %e = gantry.exp %d : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = gantry.matmul %a, %b {transpose_a} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
    %q = gantry.matmul %a, %e {transpose_a} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
    %t = gantry.add %s, %p : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %v = gantry.add %q, %u : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %n = gantry.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %n, %t, %v : tensor<i64>, tensor<8x8xf32>, tensor<8x8xf32>
  } {gantry.bounded}
  return %0#1, %0#2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// Left alone: a sum that the rounds read, one of more rows than it has elements, and a loop that is no way back.
// CHECK-LABEL: @left_alone(
// CHECK: gantry.while
// CHECK: gantry.matmul
// CHECK: gantry.matmul
// CHECK: gantry.while
// CHECK: gantry.matmul
// CHECK: return
func.func @left_alone(%x: tensor<2x8xf32>, %y: tensor<9x8xf32>, %begin: tensor<8x8xf32>, %m: tensor<i64>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %four = gantry.constant dense<4> : tensor<i64>
  %zero = gantry.constant dense<0> : tensor<i64>
  %one = gantry.constant dense<1> : tensor<i64>
  %0:3 = gantry.while (%four, %begin, %begin) at_most 5 : (tensor<i64>, tensor<8x8xf32>, tensor<8x8xf32>) -> (tensor<i64>, tensor<8x8xf32>, tensor<8x8xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<8x8xf32>, %u: tensor<8x8xf32>):
    %c = gantry.compare ge, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %s: tensor<8x8xf32>, %u: tensor<8x8xf32>):
    %a = gantry.matmul %x, %s : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %b = gantry.sin %y : (tensor<9x8xf32>) -> tensor<9x8xf32>
    %p = gantry.matmul %a, %a {transpose_a} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
    %q = gantry.matmul %b, %b {transpose_a} : (tensor<9x8xf32>, tensor<9x8xf32>) -> tensor<8x8xf32>
    %t = gantry.add %s, %p : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %v = gantry.add %u, %q : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %n = gantry.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %n, %t, %v : tensor<i64>, tensor<8x8xf32>, tensor<8x8xf32>
  } {gantry.bounded}
  %1:2 = gantry.while (%m, %begin) at_most 3 : (tensor<i64>, tensor<8x8xf32>) -> (tensor<i64>, tensor<8x8xf32>) {
  ^bb0(%i: tensor<i64>, %s: tensor<8x8xf32>):
    %c = gantry.compare ge, %i, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
    gantry.yield %c : tensor<i1>
  } do {
  ^bb0(%i: tensor<i64>, %s: tensor<8x8xf32>):
    %a = gantry.sin %x : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %p = gantry.matmul %a, %a {transpose_a} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<8x8xf32>
    %t = gantry.add %s, %p : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %n = gantry.sub %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    gantry.yield %n, %t : tensor<i64>, tensor<8x8xf32>
  }
  return %0#1, %0#2, %1#1 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
