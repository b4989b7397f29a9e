// Folding: identities of any type, and arithmetic on small integer constants, because that is what
// shapes are made of.

// RUN: gantry-opt %s -canonicalize | FileCheck %s

// Compute on floating-point constants is placed and logged like any other.
// CHECK-LABEL: @p1_float_compute_is_left(
// CHECK: gantry.add
func.func @p1_float_compute_is_left() -> tensor<2xf32> {
  %a = gantry.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = gantry.add %a, %a : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}

// Integer arithmetic wraps around as the kernels do, and broadcasts.
// CHECK-LABEL: @arithmetic(
// CHECK-DAG: %[[ADD:.*]] = gantry.constant dense<{{\[}}[11, 12], [13, 14]]> : tensor<2x2xi32>
// CHECK-DAG: %[[SUB:.*]] = gantry.constant dense<{{\[}}[-9, -8], [-7, -6]]> : tensor<2x2xi32>
// CHECK-DAG: %[[MUL:.*]] = gantry.constant dense<{{\[}}[10, 20], [30, 40]]> : tensor<2x2xi32>
// CHECK-DAG: %[[WRAP:.*]] = gantry.constant dense<-128> : tensor<i8>
// CHECK: return %[[ADD]], %[[SUB]], %[[MUL]], %[[WRAP]]
func.func @arithmetic() -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<i8>) {
  %a = gantry.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %b = gantry.constant dense<10> : tensor<1xi32>
  %max = gantry.constant dense<127> : tensor<i8>
  %one = gantry.constant dense<1> : tensor<i8>
  %0 = gantry.add %a, %b : (tensor<2x2xi32>, tensor<1xi32>) -> tensor<2x2xi32>
  %1 = gantry.sub %a, %b : (tensor<2x2xi32>, tensor<1xi32>) -> tensor<2x2xi32>
  %2 = gantry.mul %a, %b : (tensor<2x2xi32>, tensor<1xi32>) -> tensor<2x2xi32>
  %3 = gantry.add %max, %one : (tensor<i8>, tensor<i8>) -> tensor<i8>
  return %0, %1, %2, %3 : tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>, tensor<i8>
}

// Division rounds toward zero, mod has the sign of the divisor.
// CHECK-LABEL: @division(
// CHECK-DAG: %[[DIV:.*]] = gantry.constant dense<[-3, -3, 3]> : tensor<3xi64>
// CHECK-DAG: %[[MOD:.*]] = gantry.constant dense<[1, -1, -1]> : tensor<3xi64>
// CHECK: return %[[DIV]], %[[MOD]]
func.func @division() -> (tensor<3xi64>, tensor<3xi64>) {
  %a = gantry.constant dense<[-7, 7, -7]> : tensor<3xi64>
  %b = gantry.constant dense<[2, -2, -2]> : tensor<3xi64>
  %0 = gantry.div %a, %b : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  %1 = gantry.mod %a, %b : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
  return %0, %1 : tensor<3xi64>, tensor<3xi64>
}

// What has no answer in the language of this compiler is left for the kernel.
// CHECK-LABEL: @division_by_zero_is_left(
// CHECK: gantry.div
// CHECK: gantry.mod
func.func @division_by_zero_is_left() -> (tensor<2xi64>, tensor<2xi64>) {
  %a = gantry.constant dense<[7, 8]> : tensor<2xi64>
  %b = gantry.constant dense<[1, 0]> : tensor<2xi64>
  %0 = gantry.div %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %1 = gantry.mod %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %0, %1 : tensor<2xi64>, tensor<2xi64>
}

// CHECK-LABEL: @choices(
// CHECK-DAG: %[[MAX:.*]] = gantry.constant dense<[3, 5]> : tensor<2xi64>
// CHECK-DAG: %[[MIN:.*]] = gantry.constant dense<[1, 4]> : tensor<2xi64>
// CHECK-DAG: %[[LT:.*]] = gantry.constant dense<[true, false]> : tensor<2xi1>
// CHECK: return %[[MAX]], %[[MIN]], %[[LT]], %[[MIN]]
func.func @choices() -> (tensor<2xi64>, tensor<2xi64>, tensor<2xi1>, tensor<2xi64>) {
  %a = gantry.constant dense<[1, 5]> : tensor<2xi64>
  %b = gantry.constant dense<[3, 4]> : tensor<2xi64>
  %0 = gantry.maximum %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %1 = gantry.minimum %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  %2 = gantry.compare lt, %a, %b : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi1>
  %3 = gantry.select %2, %a, %b : (tensor<2xi1>, tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %0, %1, %2, %3 : tensor<2xi64>, tensor<2xi64>, tensor<2xi1>, tensor<2xi64>
}

// Unsigned numbers above the signed ones would compare the wrong way.
// CHECK-LABEL: @unsigned_order_is_left(
// CHECK: gantry.maximum
func.func @unsigned_order_is_left() -> tensor<ui8> {
  %a = gantry.constant dense<200> : tensor<ui8>
  %b = gantry.constant dense<1> : tensor<ui8>
  %0 = gantry.maximum %a, %b : (tensor<ui8>, tensor<ui8>) -> tensor<ui8>
  return %0 : tensor<ui8>
}

// CHECK-LABEL: @casts(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>
// CHECK-DAG: %[[I:.*]] = gantry.constant dense<[-1, 0]> : tensor<2xi64>
// CHECK-DAG: %[[B:.*]] = gantry.constant dense<[true, false]> : tensor<2xi1>
// CHECK: return %[[X]], %[[I]], %[[B]]
func.func @casts(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<2xi64>, tensor<2xi1>) {
  %c = gantry.constant dense<[-1, 0]> : tensor<2xi32>
  %0 = gantry.cast %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.cast %c : (tensor<2xi32>) -> tensor<2xi64>
  %2 = gantry.cast %c : (tensor<2xi32>) -> tensor<2xi1>
  return %0, %1, %2 : tensor<4xf32>, tensor<2xi64>, tensor<2xi1>
}

// CHECK-LABEL: @reshapes(
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32>
// CHECK-DAG: %[[C:.*]] = gantry.constant dense<{{\[}}[1.000000e+00, 2.000000e+00]]> : tensor<1x2xf32>
// CHECK-DAG: %[[ONE:.*]] = gantry.reshape %[[X]] : (tensor<2x6xf32>) -> tensor<3x4xf32>
// CHECK: return %[[X]], %[[ONE]], %[[C]]
func.func @reshapes(%x: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<3x4xf32>, tensor<1x2xf32>) {
  %c = gantry.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = gantry.reshape %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %1 = gantry.reshape %x : (tensor<2x6xf32>) -> tensor<12xf32>
  %2 = gantry.reshape %1 : (tensor<12xf32>) -> tensor<3x4xf32>
  %3 = gantry.reshape %c : (tensor<2xf32>) -> tensor<1x2xf32>
  return %0, %2, %3 : tensor<2x6xf32>, tensor<3x4xf32>, tensor<1x2xf32>
}

// Movement that moves nothing.
// CHECK-LABEL: @identities(
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32>
// CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
func.func @identities(%x: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) {
  %0 = gantry.transpose %x {permutation = array<i64: 0, 1>} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %1 = gantry.broadcast %x : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %2 = gantry.concat %x {axis = 1 : i64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %3 = gantry.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 2, 6>, steps = array<i64: 1, 1>} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %4 = gantry.dropout %x {ratio = 0.5 : f64} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  return %0, %1, %2, %3, %4 : tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>
}

// Empty pieces add nothing, however many there are; of nothing else one stays.
// CHECK-LABEL: @empty_pieces(
// CHECK-SAME: %[[X:[^:]*]]: tensor<2xf32>, %[[E:[^:]*]]: tensor<0xf32>
// CHECK: %[[Y:.*]] = gantry.concat %[[X]], %[[X]] {axis = 0 : i64}
// CHECK: return %[[Y]], %[[E]]
func.func @empty_pieces(%x: tensor<2xf32>, %e: tensor<0xf32>) -> (tensor<4xf32>, tensor<0xf32>) {
  %0 = gantry.concat %e, %x, %e, %x, %e {axis = 0 : i64} : (tensor<0xf32>, tensor<2xf32>, tensor<0xf32>, tensor<2xf32>, tensor<0xf32>) -> tensor<4xf32>
  %1 = gantry.concat %e, %e {axis = 0 : i64} : (tensor<0xf32>, tensor<0xf32>) -> tensor<0xf32>
  return %0, %1 : tensor<4xf32>, tensor<0xf32>
}

// A reversal is no identity, though the type stays.
// CHECK-LABEL: @reversal_is_left(
// CHECK: gantry.slice
func.func @reversal_is_left(%x: tensor<6xf32>) -> tensor<6xf32> {
  %0 = gantry.slice %x {starts = array<i64: 5>, sizes = array<i64: 6>, steps = array<i64: -1>} : (tensor<6xf32>) -> tensor<6xf32>
  return %0 : tensor<6xf32>
}

// What importers make of shapes: join, cut, pick, multiply.
// CHECK-LABEL: @shape_arithmetic(
// CHECK-DAG: %[[JOIN:.*]] = gantry.constant dense<[2, 3, 4]> : tensor<3xi64>
// CHECK-DAG: %[[CUT:.*]] = gantry.constant dense<[4, 3]> : tensor<2xi64>
// CHECK-DAG: %[[PICK:.*]] = gantry.constant dense<[4, 2]> : tensor<2xi64>
// CHECK-DAG: %[[ALL:.*]] = gantry.constant dense<24> : tensor<i64>
// CHECK-DAG: %[[ROW:.*]] = gantry.constant dense<7> : tensor<3xi64>
// CHECK: return %[[JOIN]], %[[CUT]], %[[PICK]], %[[ALL]], %[[ROW]]
func.func @shape_arithmetic() -> (tensor<3xi64>, tensor<2xi64>, tensor<2xi64>, tensor<i64>, tensor<3xi64>) {
  %a = gantry.constant dense<[2, 3]> : tensor<2xi64>
  %b = gantry.constant dense<[4]> : tensor<1xi64>
  %i = gantry.constant dense<[-1, 0]> : tensor<2xi64>
  %seven = gantry.constant dense<7> : tensor<i64>
  %0 = gantry.concat %a, %b {axis = 0 : i64} : (tensor<2xi64>, tensor<1xi64>) -> tensor<3xi64>
  %1 = gantry.slice %0 {starts = array<i64: 2>, sizes = array<i64: 2>, steps = array<i64: -1>} : (tensor<3xi64>) -> tensor<2xi64>
  %2 = gantry.gather %0, %i {axis = 0 : i64} : (tensor<3xi64>, tensor<2xi64>) -> tensor<2xi64>
  %3 = gantry.reduce_prod %0 {axes = array<i64: 0>} : (tensor<3xi64>) -> tensor<i64>
  %4 = gantry.broadcast %seven : (tensor<i64>) -> tensor<3xi64>
  return %0, %1, %2, %3, %4 : tensor<3xi64>, tensor<2xi64>, tensor<2xi64>, tensor<i64>, tensor<3xi64>
}

// An index outside is clamped, as at run time.
// CHECK-LABEL: @gather_clamps(
// CHECK: gantry.constant dense<[3, 2]> : tensor<2xi64>
func.func @gather_clamps() -> tensor<2xi64> {
  %a = gantry.constant dense<[2, 3]> : tensor<2xi64>
  %i = gantry.constant dense<[9, -9]> : tensor<2xi64>
  %0 = gantry.gather %a, %i {axis = 0 : i64} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// Large constants are data, not shapes.
// CHECK-LABEL: @large_constants_are_left(
// CHECK: gantry.add
func.func @large_constants_are_left() -> tensor<2048xi32> {
  %a = gantry.constant dense<1> : tensor<2048xi32>
  %0 = gantry.add %a, %a : (tensor<2048xi32>, tensor<2048xi32>) -> tensor<2048xi32>
  return %0 : tensor<2048xi32>
}

// An op with a request is obeyed, not folded away.
// CHECK-LABEL: @p1_requested_op_is_left(
// CHECK: gantry.add
func.func @p1_requested_op_is_left() -> tensor<2xi64> {
  %a = gantry.constant dense<[1, 2]> : tensor<2xi64>
  %0 = gantry.add %a, %a {gantry.device = #gantry.device<"/device:GPU:1">} : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
  return %0 : tensor<2xi64>
}

// So is one that does nothing: it is logged, and its value is where it was asked for.
// CHECK-LABEL: @p1_requested_identities_are_left(
// CHECK: gantry.cast
// CHECK: gantry.transpose
// CHECK: gantry.broadcast
// CHECK: gantry.concat
// CHECK: gantry.slice
// CHECK: gantry.dropout
// CHECK: gantry.reshape
func.func @p1_requested_identities_are_left(%x: tensor<2x6xf32>) -> (tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>) {
  %0 = gantry.cast %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %1 = gantry.transpose %x {permutation = array<i64: 0, 1>, gantry.device = #gantry.device<"GPU:1">} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %2 = gantry.broadcast %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %3 = gantry.concat %x {axis = 1 : i64, gantry.device = #gantry.device<"GPU:1">} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %4 = gantry.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 2, 6>, steps = array<i64: 1, 1>, gantry.device = #gantry.device<"GPU:1">} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %5 = gantry.dropout %x {ratio = 0.5 : f64, gantry.device = #gantry.device<"GPU:1">} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  %6 = gantry.reshape %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x6xf32>) -> tensor<2x6xf32>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>, tensor<2x6xf32>
}

// It goes when what computes the value was asked to run there as well, whoever asked; a constant
// computes nothing, and a weaker request is another one. So is the company of other ops.
// CHECK-LABEL: @p1_equal_request_gives_way(
// CHECK-NEXT: gantry.constant
// CHECK-NEXT: %[[Y:.*]] = gantry.relu
// CHECK-NEXT: %[[SOFT:.*]] = gantry.cast %[[Y]] {{.*}}soft
// CHECK-NEXT: %[[ELSEWHERE:.*]] = gantry.cast %[[Y]] {{.*}}GPU:0
// CHECK-NEXT: %[[TOGETHER:.*]] = gantry.cast %[[Y]] {{.*}}colocate
// CHECK-NEXT: %[[CONSTANT:.*]] = gantry.cast
// CHECK-NEXT: return %[[Y]], %[[SOFT]], %[[ELSEWHERE]], %[[TOGETHER]], %[[CONSTANT]]
func.func @p1_equal_request_gives_way(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>) {
  %c = gantry.constant {gantry.device = #gantry.device<"GPU:1">} dense<[1.0, 2.0]> : tensor<2xf32>
  %y = gantry.relu %x {gantry.device = #gantry.device<"GPU:1">, gantry.origin = loc("a":1:2)} : (tensor<4xf32>) -> tensor<4xf32>
  %0 = gantry.cast %y {gantry.device = #gantry.device<"GPU:1">, gantry.origin = loc("b":3:4)} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.cast %y {gantry.device = #gantry.device<"GPU:1">, gantry.soft = #gantry<soft prefer>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.cast %y {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.cast %y {gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = gantry.cast %c {gantry.device = #gantry.device<"GPU:1">} : (tensor<2xf32>) -> tensor<2xf32>
  return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>
}

// A view of a view skips the first one only when nobody asked to have that elsewhere.
// CHECK-LABEL: @p1_requested_views(
// CHECK-SAME: %[[X:.*]]: tensor<2x6xf32>
// CHECK-NEXT: %[[THERE:.*]] = gantry.reshape %[[X]] {{.*}}GPU:1
// CHECK-NEXT: %[[AWAY:.*]] = gantry.reshape %[[THERE]] : (tensor<12xf32>) -> tensor<3x4xf32>
// CHECK-NEXT: %[[SAME:.*]] = gantry.reshape %[[X]] {{.*}}GPU:1{{.*}} -> tensor<4x3xf32>
// CHECK-NEXT: return %[[AWAY]], %[[SAME]]
func.func @p1_requested_views(%x: tensor<2x6xf32>) -> (tensor<3x4xf32>, tensor<4x3xf32>) {
  %0 = gantry.reshape %x {gantry.device = #gantry.device<"GPU:1">} : (tensor<2x6xf32>) -> tensor<12xf32>
  %1 = gantry.reshape %0 : (tensor<12xf32>) -> tensor<3x4xf32>
  %2 = gantry.reshape %0 {gantry.device = #gantry.device<"GPU:1">} : (tensor<12xf32>) -> tensor<4x3xf32>
  return %1, %2 : tensor<3x4xf32>, tensor<4x3xf32>
}

// Every op that integers are computed with is folded, in any rank.
// CHECK-LABEL: @all_ops_and_ranks(
// CHECK-DAG: %[[NEG:.*]] = gantry.constant dense<{{\[}}[-1, 2], [-3, 4]]> : tensor<2x2xi64>
// CHECK-DAG: %[[ABS:.*]] = gantry.constant dense<{{\[}}[1, 2], [3, 4]]> : tensor<2x2xi64>
// CHECK-DAG: %[[TURNED:.*]] = gantry.constant dense<{{\[}}[1, 3], [-2, -4]]> : tensor<2x2xi64>
// CHECK-DAG: %[[COLUMN:.*]] = gantry.constant dense<{{\[}}[-2], [-4]]> : tensor<2x1xi64>
// CHECK-DAG: %[[ROW:.*]] = gantry.constant dense<{{\[}}[3, -4]]> : tensor<1x2xi64>
// CHECK-DAG: %[[SUMS:.*]] = gantry.constant dense<[4, -6]> : tensor<2xi64>
// CHECK-DAG: %[[LEAST:.*]] = gantry.constant dense<[-2, -4]> : tensor<2xi64>
// CHECK: return %[[NEG]], %[[ABS]], %[[TURNED]], %[[COLUMN]], %[[ROW]], %[[SUMS]], %[[LEAST]]
func.func @all_ops_and_ranks() -> (tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x1xi64>, tensor<1x2xi64>, tensor<2xi64>, tensor<2xi64>) {
  %a = gantry.constant dense<[[1, -2], [3, -4]]> : tensor<2x2xi64>
  %one = gantry.constant dense<[1]> : tensor<1xi64>
  %0 = gantry.neg %a : (tensor<2x2xi64>) -> tensor<2x2xi64>
  %1 = gantry.abs %a : (tensor<2x2xi64>) -> tensor<2x2xi64>
  %2 = gantry.transpose %a {permutation = array<i64: 1, 0>} : (tensor<2x2xi64>) -> tensor<2x2xi64>
  %3 = gantry.slice %a {starts = array<i64: 0, 1>, sizes = array<i64: 2, 1>, steps = array<i64: 1, 1>} : (tensor<2x2xi64>) -> tensor<2x1xi64>
  %4 = gantry.gather %a, %one {axis = 0 : i64} : (tensor<2x2xi64>, tensor<1xi64>) -> tensor<1x2xi64>
  %5 = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<2x2xi64>) -> tensor<2xi64>
  %6 = gantry.reduce_min %a {axes = array<i64: 1>} : (tensor<2x2xi64>) -> tensor<2xi64>
  return %0, %1, %2, %3, %4, %5, %6 : tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x2xi64>, tensor<2x1xi64>, tensor<1x2xi64>, tensor<2xi64>, tensor<2xi64>
}

// The largest of nothing is the least number of the element type.
// CHECK-LABEL: @extremes_of_nothing(
// CHECK-DAG: %[[MAX:.*]] = gantry.constant dense<-2147483648> : tensor<2xi32>
// CHECK-DAG: %[[MIN:.*]] = gantry.constant dense<127> : tensor<2xi8>
// CHECK: return %[[MAX]], %[[MIN]]
func.func @extremes_of_nothing() -> (tensor<2xi32>, tensor<2xi8>) {
  %a = gantry.constant dense<> : tensor<2x0xi32>
  %b = gantry.constant dense<> : tensor<2x0xi8>
  %0 = gantry.reduce_max %a {axes = array<i64: 1>} : (tensor<2x0xi32>) -> tensor<2xi32>
  %1 = gantry.reduce_min %b {axes = array<i64: 1>} : (tensor<2x0xi8>) -> tensor<2xi8>
  return %0, %1 : tensor<2xi32>, tensor<2xi8>
}
