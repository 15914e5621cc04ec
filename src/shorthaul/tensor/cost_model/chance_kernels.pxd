from shorthaul.tensor.cost_model.cost_kernels cimport Costs
from shorthaul.tensor.cost_model.order_kernels cimport Orders

cdef double chance_floor(Orders orders, Costs costs, long long w, long long h, long long k,
                         double limit) noexcept nogil
cdef bint may_coincide(Costs costs) noexcept nogil
