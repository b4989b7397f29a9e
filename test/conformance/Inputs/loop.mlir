// A loop on the host whose body computes on two devices, the values crossing over in every pass.
!t = tensor<16x16xf32>
func.func @main(%x: !t, %n: tensor<i32> {gantry.name = "n"}) -> !t {
  %zero = gantry.constant dense<0> : tensor<i32>
  %one = gantry.constant dense<1> : tensor<i32>
  %i, %y = gantry.while (%zero, %x) : (tensor<i32>, !t) -> (tensor<i32>, !t) {
  ^bb0(%a: tensor<i32>, %v: !t):
    %go = gantry.compare lt, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    gantry.yield %go : tensor<i1>
  } do {
  ^bb0(%a: tensor<i32>, %v: !t):
    %next = gantry.add %a, %one {gantry.device = #gantry.device<"CPU:0">} : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %v0 = gantry.copy %v to "GPU:0" : !t
    %p = gantry.matmul %v0, %v0 {gantry.name = "p", gantry.device = #gantry.device<"GPU:0">} : (!t, !t) -> !t
    %p1 = gantry.copy %p to "GPU:1" : !t
    %q = gantry.softmax %p1 {axis = 1 : i64, gantry.name = "q", gantry.device = #gantry.device<"GPU:1">} : (!t) -> !t
    %qh = gantry.copy %q to "CPU:0" : !t
    gantry.yield %next, %qh : tensor<i32>, !t
  }
  return %y : !t
}
